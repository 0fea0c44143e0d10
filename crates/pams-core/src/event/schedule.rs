//! Which events are called where and when.

use super::{Event, EventContext, EventResult, Hook, HookPoint, HookTimes};
use crate::error::Error;
use crate::quantity::Step;
use crate::random::Generator;
use crate::world::World;

/// All events of a simulation and their registrations.
#[derive(Debug, Default)]
pub(crate) struct Schedule {
    events: Vec<ScheduledEvent>,
    always: [Vec<usize>; POINTS],
    timed: [Vec<TimedHook>; POINTS],
    /// One bit for each point at which any event is ever called.
    used: u16,
}

const POINTS: usize = HookPoint::AfterExecution as usize + 1;

#[derive(Debug)]
struct ScheduledEvent {
    name: String,
    event: Box<dyn Event>,
    generator: Generator,
}

#[derive(Debug)]
struct TimedHook {
    first: Step,
    end: Step,
    event: usize,
}

impl Schedule {
    /// Registers an event's hooks after those of all events before it.
    pub(crate) fn add(&mut self, name: String, event: Box<dyn Event>, generator: Generator) {
        let number = self.events.len();
        for Hook { point, times } in event.hooks() {
            self.used |= 1 << point as u16;
            match times {
                HookTimes::Always => self.always[point as usize].push(number),
                HookTimes::Steps(steps) => self.timed[point as usize].push(TimedHook {
                    first: steps.start,
                    end: steps.end,
                    event: number,
                }),
            }
        }
        self.events.push(ScheduledEvent { name, event, generator });
    }

    /// Whether any event is ever called at a point.
    #[inline]
    pub(crate) fn has(&self, point: HookPoint) -> bool {
        self.used >> (point as u16) & 1 == 1
    }

    /// Calls all events that registered for a point at the current step.
    pub(crate) fn call(
        &mut self,
        point: HookPoint,
        world: &mut World,
        mut call: impl FnMut(&mut dyn Event, &mut EventContext<'_>) -> EventResult,
    ) -> Result<(), Error> {
        let now = world.time;
        let timed = self.timed[point as usize]
            .iter()
            .filter(|hook| hook.first <= now && now < hook.end)
            .map(|hook| hook.event);
        for number in self.always[point as usize].iter().copied().chain(timed) {
            let ScheduledEvent { name, event, generator } = &mut self.events[number];
            let mut context = EventContext::new(world, generator);
            call(event.as_mut(), &mut context)
                .map_err(|error| Error::new(error, format!("event {name}")))?;
        }
        Ok(())
    }
}

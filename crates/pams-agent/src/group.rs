//! Making the agents of a group together.

use pams_core::random::Generator;
use pams_core::{AgentId, MarketId};

use crate::agent::{AgentError, AgentSetup};

/// What the agents of a group are made with, beside their settings.
#[derive(Debug)]
pub struct GroupSetup<'a> {
    first: AgentId,
    generators: &'a mut [Generator],
    markets: &'a [MarketId],
    /// Whose turn it is, as a place in the group.
    current: Option<usize>,
}

impl<'a> GroupSetup<'a> {
    /// A setup for the agents from `first` on, as many as there are generators, that may trade in
    /// `markets`, ascending by id.
    pub fn new(first: AgentId, generators: &'a mut [Generator], markets: &'a [MarketId]) -> Self {
        Self { first, generators, markets, current: None }
    }

    /// How many agents the group has.
    #[must_use]
    pub fn len(&self) -> usize {
        self.generators.len()
    }

    /// Whether the group has no agents.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.generators.is_empty()
    }

    /// Makes something for each agent, in the order of ids.
    ///
    /// # Errors
    ///
    /// The first error of `make`, which ends the walk and is understood to be about that agent.
    pub fn each<T>(
        &mut self,
        mut make: impl FnMut(&mut AgentSetup<'_>) -> Result<T, AgentError>,
    ) -> Result<Vec<T>, AgentError> {
        let mut made = Vec::with_capacity(self.len());
        for (place, generator) in self.generators.iter_mut().enumerate() {
            self.current = Some(place);
            let id = AgentId::from_index(self.first.index() + place);
            made.push(make(&mut AgentSetup::new(id, generator, self.markets))?);
        }
        self.current = None;
        Ok(made)
    }

    /// The agent whose turn it was when [`each`](Self::each) ended early; none when an error is
    /// about the whole group.
    #[must_use]
    pub fn current(&self) -> Option<AgentId> {
        self.current.map(|place| AgentId::from_index(self.first.index() + place))
    }
}

#[cfg(test)]
mod tests {
    use pams_core::random::GeneratorKind;

    use super::*;

    #[test]
    fn each_agent_has_its_own_generator_and_errors_are_about_one() {
        let kind = GeneratorKind::default();
        let mut generators = [Generator::new(kind, 1), Generator::new(kind, 2)];
        let mut group = GroupSetup::new(AgentId(5), &mut generators, &[]);
        let drawn = group.each(|setup| Ok((setup.id(), setup.generator().below(1 << 40))));
        let expected = [1, 2].map(|seed| Generator::new(kind, seed).below(1 << 40));
        assert_eq!(drawn.unwrap(), [(AgentId(5), expected[0]), (AgentId(6), expected[1])]);
        assert_eq!(group.current(), None);

        let fails = |setup: &mut AgentSetup<'_>| match setup.id() {
            AgentId(6) => Err("no".into()),
            _ => Ok(()),
        };
        assert_eq!(group.each(fails).unwrap_err().to_string(), "no");
        assert_eq!(group.current(), Some(AgentId(6)));
    }
}

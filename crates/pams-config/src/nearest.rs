//! The nearest known name to one that is unknown.

/// A help text for `name`, which is none of `candidates`: the nearest of them, or all when they are few.
///
/// ```
/// let help = pams_config::suggest("FNCAgents", ["FCNAgents", "Market"].into_iter());
/// assert_eq!(help.as_deref(), Some("did you mean `FCNAgents`?"));
/// ```
#[must_use]
pub fn suggest<'a>(
    name: &str,
    candidates: impl Iterator<Item = &'a str> + Clone,
) -> Option<String> {
    if let Some(best) = nearest(name, candidates.clone()) {
        return Some(format!("did you mean `{best}`?"));
    }
    list(candidates)
}

/// "one of `a`, `b`", if there are few.
pub(crate) fn list<'a>(candidates: impl Iterator<Item = &'a str>) -> Option<String> {
    const MOST: usize = 12;
    let names: Vec<_> = candidates.take(MOST + 1).map(|name| format!("`{name}`")).collect();
    match names.len() {
        0 => None,
        1 => Some(format!("there is only {}", names[0])),
        n if n > MOST => None,
        _ => Some(format!("known are {}", names.join(", "))),
    }
}

/// The candidate that a slip of the pen turns into `name`.
pub(crate) fn nearest<'a>(
    name: &str,
    candidates: impl Iterator<Item = &'a str>,
) -> Option<&'a str> {
    const LONGEST: usize = 64;
    let length = name.chars().count();
    if length > LONGEST {
        return None;
    }
    let lower = name.to_lowercase();
    let limit = (length / 3).max(1);
    candidates
        .filter(|candidate| candidate.len() <= 4 * LONGEST && *candidate != name)
        .map(|candidate| {
            (strsim::damerau_levenshtein(&lower, &candidate.to_lowercase()), candidate)
        })
        .filter(|(distance, _)| *distance <= limit)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

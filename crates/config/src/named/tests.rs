use super::*;

#[derive(Debug, Clone, PartialEq)]
struct Thing(&'static str, u32);

impl HasName for Thing {
    fn name(&self) -> &str {
        self.0
    }
}

#[test]
fn entries_keep_their_order_and_are_found_by_name() {
    let things: Named<Thing> = [Thing("b", 1), Thing("a", 2)].into_iter().collect();
    assert_eq!(*things, [Thing("b", 1), Thing("a", 2)]);
    assert_eq!(things.find("a"), Some(&Thing("a", 2)));
    assert_eq!(things.find("c"), None);
}

#[test]
fn a_name_is_there_once_and_the_last_entry_counts() {
    let mut things = Named::default();
    assert_eq!(things.put(Thing("a", 1)), None);
    assert_eq!(things.put(Thing("b", 2)), None);
    assert_eq!(things.put(Thing("a", 3)), Some(Thing("a", 1)));
    assert_eq!(*things, [Thing("a", 3), Thing("b", 2)]);
}

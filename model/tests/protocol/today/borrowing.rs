//! Borrowers under today's rules: two committers of one session whose ticket names no other table, while the table that they append
//! to got one meanwhile. `Joined::begin_commit` gives them the same commit id, and so the same pin.

use super::{Next, State, Today};
use crate::requests::Say;

impl Today {
    pub(super) fn borrow(&self, state: &mut State, actor: usize, say: &mut Say) {
        let name = self.name(actor);
        state.actors[actor].next = match state.actors[actor].next {
            Next::Start => {
                // `Owners::pin_one` counts a pin with the same bytes as its own.
                let answer = if state.pinned { "finds the same bytes there" } else { "puts it" };
                say.add(|| format!("{name} pins version 1 of the owner, and {answer}"));
                state.pinned = true;
                Next::CheckOwner
            }
            Next::CheckOwner => {
                let marks = state.newest().map_or(0, |newest| newest.deleting);
                let kept = state.manifests[1].is_some_and(|found| found.names & marks == 0);
                say.add(|| format!("{name} finds version 1 of the owner {}", if kept { "there" } else { "gone or marked" }));
                if kept { Next::ClaimBorrower } else { Next::Unpin }
            }
            Next::ClaimBorrower if !state.borrowed => {
                say.add(|| format!("{name} commits the version of its table that uses it"));
                state.borrowed = true;
                Next::Ended
            }
            Next::ClaimBorrower => {
                // `Session::publish_with`: the version has another commit id than the last attempt.
                say.add(|| format!("{name} finds that another process has committed the session"));
                Next::Unpin
            }
            _ => {
                say.add(|| format!("{name} deletes the pin"));
                state.pinned = false;
                Next::Ended
            }
        };
    }
}

//! How a request to a store may go, and how a model tells what happens in plain words.

/// How a request goes. All but the first are faults.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Way {
    /// It takes effect, and the answer arrives.
    Done,
    /// It takes effect, and the answer is lost.
    AnswerLost,
    /// It gets no answer. It takes effect at some later time, or never.
    Late,
    /// It takes effect, the answer arrives, and it takes effect again at some later time.
    Twice,
}

impl Way {
    /// All ways if faults are left, otherwise the first one alone.
    pub(crate) fn all(faults: u8) -> &'static [Self] {
        const ALL: [Way; 4] = [Way::Done, Way::AnswerLost, Way::Late, Way::Twice];
        if faults > 0 { &ALL } else { &ALL[..1] }
    }

    /// Whether the request takes effect now.
    pub(crate) fn acts(self) -> bool {
        self != Self::Late
    }

    /// Whether the sender gets an answer.
    pub(crate) fn answers(self) -> bool {
        matches!(self, Self::Done | Self::Twice)
    }

    /// Whether the request may take effect later.
    pub(crate) fn stays(self) -> bool {
        matches!(self, Self::Late | Self::Twice)
    }

    /// The faults that it costs.
    pub(crate) fn cost(self) -> u8 {
        u8::from(self != Self::Done)
    }

    /// Describes the fault, for the line of a counterexample that has the request.
    pub(crate) fn describe(self) -> &'static str {
        match self {
            Self::Done => "",
            Self::AnswerLost => "; the store does it, and the answer is lost",
            Self::Late => "; no answer, and the request is still under way",
            Self::Twice => "; the store does it and answers, and a copy of the request is still under way",
        }
    }
}

/// Collects what happens, if somebody wants to read it.
#[derive(Debug, Default)]
pub(crate) struct Say(Option<String>);

impl Say {
    /// Collects nothing.
    pub(crate) fn nothing() -> Self {
        Self(None)
    }

    /// Collects what is said.
    pub(crate) fn aloud() -> Self {
        Self(Some(String::new()))
    }

    /// Adds words.
    pub(crate) fn add(&mut self, words: impl FnOnce() -> String) {
        if let Some(steps) = &mut self.0 {
            steps.push_str(&words());
        }
    }

    /// Returns what was said.
    pub(crate) fn into_words(self) -> String {
        self.0.unwrap_or_default()
    }
}

/// The numbers of the bits that are set.
pub(crate) fn bits(mask: u16) -> impl Iterator<Item = usize> {
    (0..16).filter(move |bit| mask & (1 << bit) != 0)
}

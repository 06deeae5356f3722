//! The message of a finding in parts, so that a report can state it about several probes or workloads at once.

/// A sentence about a probe or a workload, its subject. Equal sentences about several subjects are reported once.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Sentence {
    /// What precedes the subject; usually empty.
    pub start: String,
    /// What follows one subject.
    pub one: String,
    /// What follows several subjects; `None` if the sentence must be about each of them.
    pub many: Option<Several>,
    /// The port that the sentence names. Equal sentences about several ports are reported once.
    pub port: Option<i64>,
}

/// What follows several subjects.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Several {
    /// The text, up to the port if the sentence names one.
    text: String,
    /// What follows one port, and what follows several.
    after_port: [String; 2],
}

impl Sentence {
    /// Returns a sentence about exactly one subject: reports state it about each of several.
    #[must_use]
    pub fn each(predicate: impl Into<String>) -> Self {
        Self::after("", format!(" {}", predicate.into()))
    }

    /// Returns a sentence about exactly one subject, which `start` precedes and `end` follows.
    #[must_use]
    pub fn after(start: impl Into<String>, end: impl Into<String>) -> Self {
        Self {
            start: start.into(),
            one: end.into(),
            ..Self::default()
        }
    }

    /// Returns a sentence whose predicate is the same for several subjects, such as one with "will".
    #[must_use]
    pub fn all(predicate: impl Into<String>) -> Self {
        Self::same(format!(" {}", predicate.into()))
    }

    /// Returns a sentence in which `end` directly follows one subject or several.
    #[must_use]
    pub fn same(end: impl Into<String>) -> Self {
        let one = end.into();
        let many = Several {
            text: one.clone(),
            ..Several::default()
        };
        Self {
            one,
            many: Some(many),
            ..Self::default()
        }
    }

    /// Returns a sentence with the verb for one subject and for several, and the rest of the predicate.
    #[must_use]
    pub fn verb((one, many): (&str, &str), rest: impl Into<String>) -> Self {
        let rest = rest.into();
        Self {
            one: format!(" {one}{rest}"),
            ..Self::same(format!(" {many}{rest}"))
        }
    }

    /// Adds a port, and what follows it.
    #[must_use]
    pub fn port(self, port: i64, after: impl Into<String>) -> Self {
        let after = after.into();
        self.ports(port, &after, [&after, &after])
    }

    /// Adds a port, what follows it for one subject, and what follows one port and several ports of several subjects.
    #[must_use]
    pub fn ports(mut self, port: i64, after: &str, after_many: [&str; 2]) -> Self {
        self.one.push_str(&format!("port {port}{after}"));
        if let Some(many) = &mut self.many {
            many.after_port = after_many.map(str::to_owned);
            self.port = Some(port);
        }
        self
    }

    /// Returns the whole sentence about one subject.
    #[must_use]
    pub fn about(&self, subject: &str) -> String {
        format!("{}{subject}{}", self.start, self.one)
    }

    /// Returns the whole sentence about several subjects, with the ports that the sentences about each of them name.
    #[must_use]
    pub fn about_several(&self, subjects: &str, ports: &[i64]) -> String {
        let start = &self.start;
        let Some(Several { text, after_port }) = &self.many else {
            return format!("{start}each of {subjects}{}", self.one);
        };
        let [after_one, after_several] = after_port;
        match ports {
            [] => format!("{start}{subjects}{text}"),
            [port] => format!("{start}{subjects}{text}port {port}{after_one}"),
            [first @ .., last] => {
                let first: Vec<String> = first.iter().map(i64::to_string).collect();
                let ports = format!("{} and {last}", first.join(", "));
                format!("{start}{subjects}{text}ports {ports}{after_several}")
            }
        }
    }

    /// Returns the sentence without its port, if it can be about several.
    #[must_use]
    pub fn without_port(&self) -> Self {
        let mut general = self.clone();
        if general.port.take().is_some() {
            general.one.clear();
        }
        general
    }
}

impl From<&str> for Sentence {
    fn from(predicate: &str) -> Self {
        Self::each(predicate)
    }
}

impl From<String> for Sentence {
    fn from(predicate: String) -> Self {
        Self::each(predicate)
    }
}

#[cfg(test)]
mod tests {
    use super::Sentence;

    #[test]
    fn sentences_are_about_one_or_several() {
        let closed = |port| {
            Sentence::all("will fail: ").ports(port, " is closed", [" is closed", " are closed"])
        };
        let strict = closed(80);
        let ports = [80, 90, 100];
        assert_eq!(strict.about("a"), "a will fail: port 80 is closed");
        assert_eq!(
            strict.about_several("a and b", &ports[..1]),
            "a and b will fail: port 80 is closed"
        );
        assert_eq!(
            strict.about_several("a and b", &ports),
            "a and b will fail: ports 80, 90 and 100 are closed"
        );
        let denied = Sentence::verb(("is", "are"), " denied");
        assert_eq!(denied.about("a"), "a is denied");
        assert_eq!(denied.about_several("a and b", &[]), "a and b are denied");
        let refused = Sentence::after("the server refuses ", ": x");
        assert_eq!(
            refused.about_several("a and b", &[]),
            "the server refuses each of a and b: x"
        );
        assert_eq!(strict.without_port(), closed(90).without_port());
    }
}

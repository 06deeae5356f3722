//! What becomes of each probe of a pod.

use crate::finding::Certainty;
use crate::kube::{Action, Container, Handler, Slot};
use crate::mesh::Reason;
use crate::mesh::other::{Asked, Each, Meets, Membership, Target, Treatment, Trouble, port_of};

use super::envoy::{cluster_name, probe_path};
use super::probes::{kept, records};
use super::{
    ENVOY_CONTAINER, Era, HEALTHCHECK_CONTAINER, HEALTHCHECK_PATH, HEALTHCHECK_PORT, PORTS, Record,
    TCP_PORT_HEADER, Transport, declares, has_container, injection, is_own_path, listener_port,
    word,
};

pub(super) fn all(
    asked: &Asked<'_, '_>,
    membership: Membership,
    handlers: &[Each<'_>],
) -> Vec<Treatment> {
    if membership != Membership::Injected {
        let each = handlers.iter().enumerate();
        return each
            .map(|(index, one)| match membership {
                Membership::Brought => injected_already(asked, index, handlers, one),
                _ => outside(asked, one),
            })
            .collect();
    }
    let records = records(handlers);
    let pod = Pod {
        asked,
        era: Era::of(asked.release),
        records: &records,
    };
    let each = handlers.iter().enumerate();
    each.map(|(index, one)| pod.treat(index, one)).collect()
}

/// The action of a handler that goes over the network, with its port.
fn asks<'a>(one: &'a Each<'_>) -> Option<(&'a Action, i64)> {
    let action = one.1.action.as_ref().ok()?;
    action.port()?;
    Some((action, port_of(one).unwrap_or(0)))
}

fn points_at_proxy(action: &Action, port: i64) -> bool {
    let own = (15901..=HEALTHCHECK_PORT).contains(&port);
    own && matches!(action, Action::HttpGet(http) if is_own_path(&http.path))
}

/// The header that tells the helper which port to try.
fn tells_port(action: &Action) -> bool {
    let tells = |(name, value): &(String, String)| {
        name.eq_ignore_ascii_case(TCP_PORT_HEADER) && value.parse::<u16>().is_ok_and(|p| p > 0)
    };
    matches!(action, Action::HttpGet(http) if http.headers.iter().any(tells))
}

/// The pod is not injected: the mesh does nothing, but a probe that was rewritten ahead needs a
/// proxy all the same. Whoever brings their own declares its ports.
fn outside(asked: &Asked<'_, '_>, one: &Each<'_>) -> Treatment {
    let port = port_of(one);
    let Some((action, number)) = asks(one) else {
        return Treatment::left(port, Meets::Nothing);
    };
    let containers = asked.workload.template.containers();
    let mut declared = containers.iter().flat_map(Container::ports);
    if points_at_proxy(action, number) && !declared.any(|port| port.number == Some(number)) {
        return Treatment::left(port, Meets::Trouble(Trouble::WithoutProxy));
    }
    Treatment::left(port, Meets::Nothing)
}

/// The pod was injected and written down: each probe must find what answers it, in the order in
/// which OSM's own guide looks for what is wrong.
fn injected_already(
    asked: &Asked<'_, '_>,
    index: usize,
    handlers: &[Each<'_>],
    one: &Each<'_>,
) -> Treatment {
    let port = port_of(one);
    let Some((action, number)) = asks(one) else {
        return Treatment::left(port, Meets::Nothing);
    };
    let (meets, changed, endpoint) = endpoint(asked, &one.1, action, number);
    let mut treatment = Treatment::left(port, meets);
    match meets {
        Meets::Direct => treatment.because = exclusion(asked, number),
        Meets::Application => {
            let said =
                "the bootstrap Secret of the proxy holds the listener, which no manifest shows";
            treatment.because.push(Reason::said(said, None));
            treatment.no_surer_than(Certainty::Assumed);
            if let Some(rival) = shares_listener(one, handlers.get(index + 1..).unwrap_or_default())
            {
                treatment.meets = Meets::Trouble(match action {
                    Action::HttpGet(http) if http.scheme != "HTTP" => Trouble::TlsAnsweredByOther,
                    _ => Trouble::AnsweredByOther,
                });
                let said = "this probe asks the same listener, which passes on one of the two";
                let place = asked.workload.object.label_at(rival.1.key.span(), said);
                treatment.because = vec![Reason::written(place)];
            }
        }
        _ => {}
    }
    treatment.trail = vec![
        ("1. changed", changed),
        ("1. endpoint", endpoint),
        (
            "2. start",
            "then look at the events of the pod: scheduling, images, init containers".to_owned(),
        ),
        (
            "3. app",
            "last, ask the application itself on 127.0.0.1, past the proxy".to_owned(),
        ),
    ];
    treatment
}

/// The probe of a later container that asks the same of the same listener: up to 1.2 the last one is
/// passed on. A path of the development head names its container.
fn shares_listener<'a, 't>(one: &Each<'t>, later: &'a [Each<'t>]) -> Option<&'a Each<'t>> {
    let asks = |each: &Each<'_>| match &each.1.action {
        Ok(Action::HttpGet(http)) => Some((port_of(each), http.path.clone(), http.scheme.clone())),
        _ => None,
    };
    let mine = asks(one)?;
    let is_tls = mine.2 != "HTTP";
    later.iter().find(|other| {
        let theirs = asks(other);
        let is_same = theirs.as_ref() == Some(&mine)
            || (is_tls
                && theirs.is_some_and(|theirs| (theirs.0, theirs.2) == (mine.0, mine.2.clone())));
        is_same && other.0.within != one.0.within && other.1.slot == one.1.slot
    })
}

fn endpoint(
    asked: &Asked<'_, '_>,
    handler: &Handler<'_>,
    action: &Action,
    port: i64,
) -> (Meets, String, String) {
    let workload = asked.workload;
    let said = |text: &str| text.to_owned();
    let Action::HttpGet(http) = action else {
        return (
            unchanged(asked, handler, action, port),
            said("no: OSM turns httpGet and tcpSocket into httpGet on 15901 to 15904"),
            format!("port {port} of the application, through the inbound listener"),
        );
    };
    if port == HEALTHCHECK_PORT {
        let tells = |(name, value): &(String, String)| {
            name.eq_ignore_ascii_case(TCP_PORT_HEADER) && value.parse::<u16>().is_ok_and(|p| p > 0)
        };
        let is_there = has_container(workload, HEALTHCHECK_CONTAINER);
        let told = http.headers.iter().find(|header| tells(header));
        let meets = if is_there && told.is_some() && http.path == HEALTHCHECK_PATH {
            Meets::Helper
        } else {
            Meets::Trouble(Trouble::NoHelper)
        };
        let (header, opens) = match told {
            Some((_, value)) => (
                format!("{TCP_PORT_HEADER}: {value}"),
                format!("it opens 127.0.0.1:{value}"),
            ),
            None => (
                format!("header {TCP_PORT_HEADER} names no port"),
                format!("it answers 400 without a port in {TCP_PORT_HEADER}"),
            ),
        };
        let there = if is_there { "is there" } else { "is missing" };
        return (
            meets,
            format!("yes: tcpSocket became httpGet {} ({header})", http.path),
            format!("container {HEALTHCHECK_CONTAINER} {there}; {opens}"),
        );
    }
    let listener = [Slot::Liveness, Slot::Readiness, Slot::Startup]
        .into_iter()
        .find(|slot| listener_port(*slot) == Some(port));
    let Some(slot) = listener else {
        return (
            unchanged(asked, handler, action, port),
            said("no: httpGet is expected on 15901, 15902 or 15903"),
            format!("port {port} of the application, through the inbound listener"),
        );
    };
    // Each listener knows its own path, and OSM points each kind of probe at its own listener.
    let own_path = format!("/osm-{}-probe", word(slot));
    let is_routed = http.scheme != "HTTP" || http.path.starts_with(&own_path);
    let is_passed = slot == handler.slot && is_routed;
    let is_declared = declares(workload, ENVOY_CONTAINER, port);
    let meets = if is_passed && is_declared {
        Meets::Application
    } else {
        Meets::Trouble(Trouble::NoListener)
    };
    let changed = match listener_port(handler.slot) {
        Some(expected) if expected != port => {
            format!("not by OSM: it is expected on {expected}, this is the port of another kind")
        }
        _ if http.scheme != "HTTP" => said("yes: the port only, it is HTTPS"),
        _ if is_routed => said("yes: port and path"),
        _ => format!("the port only: the path is expected to be {own_path}"),
    };
    let declared = if is_declared {
        "declares"
    } else {
        "does not declare"
    };
    (
        meets,
        changed,
        format!(
            "{}_listener on {port}; container {ENVOY_CONTAINER} {declared} that port, its bootstrap \
             Secret must hold the listener",
            word(slot)
        ),
    )
}

/// A handler of an injected pod that goes to the application through the inbound listener.
fn unchanged(asked: &Asked<'_, '_>, handler: &Handler<'_>, action: &Action, port: i64) -> Meets {
    if action.host().is_some() {
        return Meets::Elsewhere;
    }
    if !exclusion(asked, port).is_empty() {
        return Meets::Direct;
    }
    match action {
        _ if PORTS.iter().any(|(own, _)| *own == port) => Meets::Trouble(Trouble::PortOfProxy),
        Action::TcpSocket { .. } => Meets::Accepted,
        Action::Grpc { .. } => Meets::Trouble(Trouble::GrpcAtMtls),
        _ if handler.slot.is_lifecycle() => Meets::Trouble(Trouble::HookAtMtls),
        _ => Meets::Trouble(Trouble::NotChanged),
    }
}

fn exclusion(asked: &Asked<'_, '_>, port: i64) -> Vec<Reason> {
    let excluded = injection::excluded(asked).into_iter();
    excluded
        .filter(|(number, _)| *number == port)
        .map(|(_, place)| Reason::written(place))
        .take(1)
        .collect()
}

/// A pod that the webhook is going to inject.
struct Pod<'a, 't> {
    asked: &'a Asked<'a, 't>,
    era: Era,
    records: &'a [Record],
}

impl Pod<'_, '_> {
    fn treat(&self, index: usize, one: &Each<'_>) -> Treatment {
        let port = port_of(one);
        let Some((action, number)) = asks(one) else {
            return Treatment::left(port, Meets::Nothing);
        };
        if one.0.is_native_sidecar() {
            return Treatment::left(port, Meets::Trouble(Trouble::NeverStarts));
        }
        let Some(record) = self.records.iter().find(|record| record.index == index) else {
            let mut treatment =
                Treatment::left(port, unchanged(self.asked, &one.1, action, number));
            if treatment.meets == Meets::Direct {
                treatment.because = exclusion(self.asked, number);
            }
            return treatment;
        };
        let mut treatment = Treatment::left(port, self.meets(record, action, number));
        treatment.target = self.target(record, action);
        treatment.by_release = self.is_by_release(record, treatment.meets);
        let taken = matches!(
            treatment.meets,
            Meets::Trouble(Trouble::ListenerTaken | Trouble::HelperTaken)
        );
        if !taken {
            treatment.trail = self.trail(record);
        }
        if let Meets::Trouble(trouble) = treatment.meets {
            treatment.because = self.rival(record, trouble);
        }
        if treatment.meets == Meets::Helper && points_at_proxy(action, number) {
            let said = "the proxy passes the header on to the helper of the manifest";
            treatment.because.push(Reason::said(said, None));
            treatment.no_surer_than(Certainty::Assumed);
        }
        treatment
    }

    fn target(&self, record: &Record, action: &Action) -> Option<Target> {
        let port = listener_port(record.slot)?;
        let at = |path: String, port: i64, scheme: &'static str| Target {
            path,
            port,
            scheme,
            headers: None,
            drops_origin: false,
        };
        match record.transport {
            Transport::Http => {
                let path = probe_path(self.era, record.slot, &record.container);
                Some(at(path, port, "HTTP"))
            }
            Transport::Tls if self.era == Era::HttpOnly => {
                let path = probe_path(self.era, record.slot, &record.container);
                Some(at(path, port, "HTTPS"))
            }
            Transport::Tls => {
                let scheme = match action {
                    Action::HttpGet(http) if http.scheme == "HTTPS" => "HTTPS",
                    _ => "HTTP",
                };
                Some(at(record.path.clone(), port, scheme))
            }
            Transport::Tcp if self.era < Era::PerKind => None,
            Transport::Tcp => Some(Target {
                headers: Some(vec![(TCP_PORT_HEADER.to_owned(), record.port.to_string())]),
                ..at(HEALTHCHECK_PATH.to_owned(), HEALTHCHECK_PORT, "HTTP")
            }),
        }
    }

    fn meets(&self, record: &Record, action: &Action, port: i64) -> Meets {
        if points_at_proxy(action, port) {
            // Its own helper answers through the proxy: the path is put back, the header goes along.
            let helped = port == HEALTHCHECK_PORT && tells_port(action);
            return match helped && has_container(self.asked.workload, HEALTHCHECK_CONTAINER) {
                true => Meets::Helper,
                false => Meets::Trouble(Trouble::AsksItself),
            };
        }
        if PORTS.iter().any(|(own, _)| *own == port) {
            return Meets::Trouble(Trouble::PortOfProxy);
        }
        match record.transport {
            Transport::Tcp if self.era < Era::PerKind => return Meets::Accepted,
            Transport::Tls if self.era == Era::HttpOnly => {
                return Meets::Trouble(Trouble::PlainListener);
            }
            _ => {}
        }
        // The kubelet asks another host, whatever the proxy of this pod does.
        if action.host().is_some() && record.transport != Transport::Tcp {
            return Meets::Trouble(Trouble::HostKept);
        }
        if let Some(trouble) = self.collision(record) {
            return Meets::Trouble(trouble);
        }
        if action.host().is_some() {
            return Meets::Trouble(Trouble::HostLost);
        }
        match record.transport {
            Transport::Tcp => Meets::Helper,
            _ => Meets::Application,
        }
    }

    /// What another container of the pod does to the probe.
    fn collision(&self, record: &Record) -> Option<Trouble> {
        if self.era == Era::PerContainer {
            return self.rival_of(record).map(|rival| match rival.transport {
                Transport::Tls => Trouble::TlsAnsweredByOther,
                _ => Trouble::AnsweredByOther,
            });
        }
        let kept = kept(self.era, self.records);
        if record.transport == Transport::Tcp {
            // The helper reads the port from the header: it only has to be there.
            let has_helper = kept.iter().any(|one| one.transport == Transport::Tcp);
            return (!has_helper).then_some(Trouble::HelperTaken);
        }
        let last = self.rival_of(record)?;
        match (record.transport, last.transport) {
            (_, Transport::Tcp) => Some(Trouble::ListenerTaken),
            (Transport::Tls, Transport::Tls) => Some(Trouble::TlsAnsweredByOther),
            (Transport::Http, Transport::Http) => Some(Trouble::AnsweredByOther),
            _ => Some(Trouble::TlsMixed),
        }
    }

    /// The probe of another container that is asked in its place, and asks for something else.
    fn rival_of(&self, record: &Record) -> Option<&Record> {
        let others = self.records.iter().filter(|one| {
            one.slot == record.slot && one.index != record.index && !is_alike(one, record)
        });
        if self.era == Era::PerContainer {
            let mut others = others;
            return others.find(|other| match (record.transport, other.transport) {
                (Transport::Tls, Transport::Tls) => true,
                // Routes match prefixes: `a` takes what is meant for `ab`.
                (Transport::Http, Transport::Http) => {
                    record.container.starts_with(&other.container)
                }
                _ => false,
            });
        }
        let last = self.records.iter().rfind(|one| one.slot == record.slot)?;
        (last.index != record.index && !is_alike(last, record)).then_some(last)
    }

    fn rival(&self, record: &Record, trouble: Trouble) -> Vec<Reason> {
        let is_collision = matches!(
            trouble,
            Trouble::AnsweredByOther
                | Trouble::ListenerTaken
                | Trouble::HelperTaken
                | Trouble::TlsAnsweredByOther
                | Trouble::TlsMixed
        );
        let rival = self.rival_of(record).filter(|_| is_collision);
        let place = rival.and_then(|rival| {
            let containers = self.asked.workload.template.containers();
            let container = containers
                .into_iter()
                .find(|one| one.name() == rival.container)?;
            let entry = container.node.entry(record.slot.key())?;
            let said = match (self.era, rival.transport) {
                (Era::PerContainer, Transport::Tls) => {
                    "this probe of the same kind may win: chance decides"
                }
                (Era::PerContainer, _) => "the route for this probe begins alike, and may win",
                _ => "this probe of the same kind wins",
            };
            Some(self.asked.workload.object.label_at(entry.key.span(), said))
        });
        place.map(Reason::written).into_iter().collect()
    }

    /// Other releases do otherwise.
    fn is_by_release(&self, record: &Record, meets: Meets) -> bool {
        let by_collision = matches!(
            meets,
            Meets::Trouble(
                Trouble::AnsweredByOther
                    | Trouble::ListenerTaken
                    | Trouble::HelperTaken
                    | Trouble::TlsMixed
            )
        );
        by_collision || (self.era < Era::PerKind && record.transport != Transport::Http)
    }

    fn trail(&self, record: &Record) -> Vec<(&'static str, String)> {
        let Some(port) = listener_port(record.slot) else {
            return Vec::new();
        };
        let text = match record.transport {
            Transport::Tcp if self.era < Era::PerKind => return Vec::new(),
            Transport::Tcp => format!(
                "container {HEALTHCHECK_CONTAINER} on {HEALTHCHECK_PORT} opens 127.0.0.1:{}",
                record.port
            ),
            transport => {
                let path = match transport {
                    Transport::Http => format!(", path {}", record.path),
                    _ => ", as bytes".to_owned(),
                };
                format!(
                    "{}_listener on {port} to {} 127.0.0.1:{}{path}",
                    word(record.slot),
                    cluster_name(self.era, record),
                    record.port
                )
            }
        };
        vec![("endpoint", text)]
    }
}

/// Both ask the same of the pod, so it does not matter which of them is asked.
fn is_alike(one: &Record, other: &Record) -> bool {
    one.transport == other.transport && one.port == other.port && one.path == other.path
}

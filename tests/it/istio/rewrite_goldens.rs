//! Compares the output of `rewrite` in every form with that of Istio's own injector, release by release.
//!
//! `fixtures/istio/README.md` describes the comparison.

use std::collections::BTreeMap;
use std::fs;

use super::matrix::{Case, FORMS, cases};
use super::webhook::defaults::{Types, handlers, of_containers};
use super::webhook::{
    Admitted, CONFIG, ENV, Mesh, Workload, admit, annotation, names, prober_envs,
};
use crate::support::{Run, fixture};
use rayon::prelude::*;
use serde_json::Value;

/// Minimum number of equal pods per form; the numbers may only grow.
const FLOORS: [usize; 3] = [1122, 1122, 1122];

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Class {
    Equal,
    LeftAlone,
    Refused,
}

/// Returns the rows of `permitted.csv`: case, form, releases, class, guard.
fn permitted() -> Vec<Vec<String>> {
    let text = fs::read_to_string(fixture("istio/permitted.csv")).unwrap();
    text.lines()
        .skip(1)
        .map(|line| line.split(',').map(str::to_owned).collect())
        .collect()
}

/// One run of the program over a case.
struct Trial<'a> {
    rows: &'a [Vec<String>],
    case: &'a str,
    form: &'a str,
    release: &'a str,
    before: &'a [Workload],
    after: &'a [Workload],
    run: &'a Run,
}

impl Trial<'_> {
    /// Returns the class and the guard of each row of `permitted.csv` that applies to this run.
    fn permitted(&self) -> impl Iterator<Item = (&str, &str)> {
        self.rows.iter().filter_map(|row| {
            let [name, form, releases, kind, guard, ..] = row.as_slice() else {
                return None;
            };
            let applies = name == self.case
                && (form == "*" || form == self.form)
                && (releases == "*" || releases.split(' ').any(|release| release == self.release));
            applies.then_some((kind.as_str(), guard.as_str()))
        })
    }

    fn permits_guards(&self, guards: &[String]) -> bool {
        let permitted = |guard: &String| {
            let mut rows = self.permitted();
            rows.any(|(kind, row)| kind.starts_with("refused") && row == guard)
        };
        !guards.is_empty() && guards.iter().all(permitted)
    }

    fn permits(&self, class: &str) -> bool {
        self.permitted().any(|(kind, _)| kind.contains(class))
    }

    /// Returns the template to compare: unchanged, or after the webhook if a row of `permitted.csv` requires it.
    fn compared_template(&self, after: &Workload) -> Value {
        if !self.permitted().any(|(kind, _)| kind == "equal") {
            return after.template.clone();
        }
        match admit(after, Mesh::of(self.release)) {
            Admitted::Injected(pod) => pod,
            other => panic!("{}: {other:?}", self.case),
        }
    }
}

/// Returns the prober env that the sidecar will have, from a container or from the annotation.
fn prober_env(template: &Value) -> Option<String> {
    if let Some(last) = prober_envs(template).pop() {
        return Some(last);
    }
    let config: Value = serde_yaml::from_str(annotation(template, CONFIG)?).unwrap();
    let escaped = config.pointer(&format!("/proxyMetadata/{ENV}"))?.as_str()?;
    Some(serde_yaml::from_str(&format!("\"{escaped}\"")).unwrap())
}

/// Returns the guards that refuse: the words in brackets after a severity.
fn guards(run: &Run) -> Vec<String> {
    run.stderr
        .split("error[")
        .skip(1)
        .filter_map(|rest| Some(rest.split_once(']')?.0.to_owned()))
        .collect()
}

fn compare(trial: &Trial<'_>, release: &str, admitted: &[Value]) -> Vec<(Class, String)> {
    assert_eq!(
        trial.before.len(),
        trial.after.len(),
        "{release}: pods are missing"
    );
    let pods = trial.before.iter().zip(trial.after).zip(admitted);
    pods.map(|((before, after), golden)| compare_pod(trial, release, before, after, golden))
        .collect()
}

fn compare_pod(
    trial: &Trial<'_>,
    release: &str,
    before: &Workload,
    after: &Workload,
    golden: &Value,
) -> (Class, String) {
    let unchanged = before == after;
    let status = trial.run.code;
    if golden.get("error").is_some() || golden.get("skipped").is_some() {
        // If the injector fails, a diagnostic is correct.
        let silent = status == 0 || golden.get("error").is_some();
        return match (unchanged, silent) {
            (true, true) => (Class::LeftAlone, String::new()),
            (true, false) => (Class::Refused, String::new()),
            (false, _) => (
                Class::Equal,
                "changed, although the injector does not change it".into(),
            ),
        };
    }
    let types = Types::of(release);
    let template = trial.compared_template(after);
    let containers = golden["containers"].as_array().unwrap().iter();
    let want = of_containers(
        containers.map(|container| (container["in"].as_str().unwrap(), container)),
        types,
    );
    let got = handlers(&template, types);
    let env_want = golden[ENV].as_str().map(str::to_owned);
    let env_got = prober_env(&template);
    let order = golden["containerOrder"].as_array().unwrap().iter();
    let order = order.map(|name| name.as_str().unwrap().to_owned());
    let without_proxy = |names: Vec<String>| {
        names
            .into_iter()
            .filter(|name| name != "istio-proxy")
            .collect::<Vec<_>>()
    };
    let (order_want, order_got) = (
        without_proxy(order.collect()),
        without_proxy(names(&template, "containers")),
    );
    let equal = want == got && env_want == env_got && order_want == order_got;
    let fault = format!(
        "handlers want {want:#?}\n got {got:#?}\nenv want {env_want:?}\n got {env_got:?}\norder {order_want:?}\n{}",
        trial.run.stderr
    );
    match (equal, unchanged) {
        (true, true) => (Class::LeftAlone, String::new()),
        (true, false) => (Class::Equal, String::new()),
        (false, true) if status == 1 => (Class::Refused, String::new()),
        (false, true) => (Class::LeftAlone, fault),
        (false, _) => (Class::Equal, fault),
    }
}

/// Compares a run with the golden, and clears the differences that `permitted.csv` permits.
fn judge(trial: &Trial<'_>, group: &Value, golden: &[Value]) -> Vec<(Class, String)> {
    let admitted = |group: &Value| group["admitted"].as_array().unwrap().clone();
    let guards = guards(trial.run);
    let mut judged = compare(trial, trial.release, &admitted(group));
    for (class, fault) in &mut judged {
        if *class == Class::Refused {
            if trial.permits_guards(&guards) {
                fault.clear();
            } else {
                *fault = format!("refused by {guards:?}\n{}", trial.run.stderr);
            }
        } else if *class == Class::LeftAlone && trial.permits("left alone") {
            fault.clear();
        }
    }
    if trial.permits(" or as ") && judged.iter().any(|(_, fault)| !fault.is_empty()) {
        let is_later = |group: &&Value| {
            let releases = group["versions"].as_array().unwrap();
            releases.iter().any(|release| release == "1.17.8")
        };
        let later = golden.iter().find(is_later);
        judged = compare(trial, "1.17.8", &admitted(later.unwrap()));
    }
    judged
}

#[test]
fn every_form_gives_the_result_of_the_injector_of_every_release() {
    let rows = permitted();
    let cases = cases();
    for (form, floor) in FORMS.into_iter().zip(FLOORS) {
        let judged: Vec<(Class, String)> = cases
            .par_iter()
            .flat_map_iter(|case| judge_case(&rows, case, form))
            .collect();
        let mut counts: BTreeMap<Class, usize> = BTreeMap::new();
        for (class, _) in &judged {
            *counts.entry(*class).or_default() += 1;
        }
        let faults = judged.into_iter().map(|(_, fault)| fault);
        let faults: Vec<String> = faults.filter(|fault| !fault.is_empty()).collect();
        assert!(
            faults.is_empty(),
            "{form}: {} differences, {counts:?}:\n{}",
            faults.len(),
            faults.join("\n")
        );
        println!("{form}: classes of {} cases: {counts:?}", cases.len());
        let equal = counts.get(&Class::Equal).copied().unwrap_or_default();
        assert!(equal >= floor, "{form}: {counts:?}");
    }
}

/// Returns the class of each pod of a case in one form, for all releases, with the difference from the golden.
fn judge_case(rows: &[Vec<String>], case: &Case, form: &'static str) -> Vec<(Class, String)> {
    let mut all = Vec::new();
    for (release, group) in case.releases() {
        let rewrite = case.rewrite(form, release);
        let trial = Trial {
            rows,
            case: &case.name,
            form,
            release,
            before: &case.input,
            after: &rewrite.output,
            run: &rewrite.run,
        };
        let judged = judge(&trial, group, &case.golden).into_iter();
        all.extend(judged.map(|(class, fault)| {
            let message = format!("{} {release}: {class:?}\n{fault}", case.name);
            (class, if fault.is_empty() { fault } else { message })
        }));
    }
    all
}

#[test]
fn an_env_survives_escaping_for_the_annotation() {
    use meshprobe::mesh::istio::proxy_config::{escape, unescape};
    let text = fs::read_to_string(fixture("istio/escape.csv")).unwrap();
    let rows = csv_rows(&text);
    assert_eq!(rows.len(), 68);
    for row in rows {
        let [json, value] = row.as_slice() else {
            panic!("{row:?}")
        };
        assert_eq!(
            &unescape(value).unwrap(),
            json,
            "the text that the real injector reads"
        );
        // The template puts the value between double quotes; a parser derived from libyaml reads the result.
        let pasted: String = serde_yaml::from_str(&format!("\"{}\"", escape(json))).unwrap();
        assert_eq!(&pasted, json);
    }
}

/// Returns the rows of a two-column CSV without its header. Quoted cells may contain line breaks.
fn csv_rows(text: &str) -> Vec<Vec<String>> {
    let (mut rows, mut row, mut cell, mut quoted) = (Vec::new(), Vec::new(), String::new(), false);
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            '"' if quoted && letters.peek() == Some(&'"') => {
                cell.push('"');
                letters.next();
            }
            '"' => quoted = !quoted,
            ',' if !quoted => row.push(std::mem::take(&mut cell)),
            '\r' if !quoted => {}
            '\n' if !quoted => {
                row.push(std::mem::take(&mut cell));
                rows.push(std::mem::take(&mut row));
            }
            other => cell.push(other),
        }
    }
    rows.drain(1..).collect()
}

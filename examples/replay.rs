//! Replays observations (JSON lines) through track and events; prints shots as JSON lines. Development aid.
use cuemark::ball::Ball;
use cuemark::events::{EventFinder, EventKind};
use cuemark::observation::{FrameObservations, Observation};
use cuemark::space::{TableCovariance, TablePoint};
use cuemark::table::Table;
use cuemark::track::Tracker;
use cuemark::units::{Confidence, FrameNo, Timestamp};
use serde_json::{Value, json};
use std::io::BufRead;

fn main() {
    if std::env::var("TRACE").is_ok() {
        tracing_subscriber::fmt()
            .with_max_level(tracing::Level::TRACE)
            .with_writer(std::io::stderr)
            .without_time()
            .init();
    }
    let path = std::env::args().nth(1).unwrap();
    let mut tracker = Tracker::new(&cuemark::ball::CAROM_BALLS);
    let mut finder = EventFinder::new(Table::CAROM, cuemark::ball::CAROM_BALLS.into_iter());
    let mut shots = Vec::new();
    for line in std::io::BufReader::new(std::fs::File::open(path).unwrap()).lines() {
        let v: Value = serde_json::from_str(&line.unwrap()).unwrap();
        let f = |v: &Value| v.as_f64().unwrap();
        let at = Timestamp::saturating(f(&v["t"]));
        let balls = v["balls"]
            .as_array()
            .unwrap()
            .iter()
            .map(|b| Observation {
                kinds: b["kinds"]
                    .as_array()
                    .unwrap()
                    .iter()
                    .map(|k| (k[0].as_str().unwrap().parse::<Ball>().unwrap(), Confidence::new(f(&k[1]))))
                    .collect(),
                at: TablePoint::new(f(&b["x"]), f(&b["y"])),
                covariance: TableCovariance::new(f(&b["cov"][0]), f(&b["cov"][1]), f(&b["cov"][1]), f(&b["cov"][2])),
                coverage: f(&b["coverage"]),
            })
            .collect();
        let seen = FrameObservations {
            no: FrameNo(v["no"].as_u64().unwrap()),
            at,
            table_in_view: v["in_view"].as_bool().unwrap(),
            balls,
        };
        if finder.lost_view() {
            tracker.forget();
        }
        let r = if seen.table_in_view {
            tracker.update(&seen)
        } else {
            Vec::new()
        };
        shots.extend(finder.observe(&seen, &r));
    }
    shots.extend(finder.finish());
    for s in &shots {
        let ev: Vec<Value> = s
            .events()
            .iter()
            .filter(|e| e.confidence.get() >= 0.5 || std::env::var("ALL").is_ok())
            .map(|e| {
                let mut j = match e.kind {
                    EventKind::CueStrike { ball } => json!({"type":"cue_strike","ball":ball.to_string()}),
                    EventKind::BallBall { a, b } => json!({"type":"ball_ball","balls":[a.to_string(), b.to_string()]}),
                    EventKind::Rail { ball, rail } => json!({"type":"rail","ball":ball.to_string(),"rail":rail.name()}),
                    EventKind::Rest { ball } => json!({"type":"rest","ball":ball.to_string()}),
                    _ => json!({"type":"other"}),
                };
                j["t"] = json!(e.at.secs());
                j["t_err"] = json!(e.t_err_s);
                j["confidence"] = json!(e.confidence.get());
                j
            })
            .collect();
        let cue = s.cue_ball.map(|b| b.to_string());
        println!(
            "{}",
            json!({"type":"shot","shot":s.no,"kind":format!("{:?}",s.kind).to_lowercase(),"start_s":s.start.secs(),"end_s":s.end.secs(),"cue_ball":cue,"events":ev,"flags":s.flags.iter().map(|f|f.name()).collect::<Vec<_>>()})
        );
        // verdict by the bare definition, for hunting failures
        if let Some(c) = s.cue_ball {
            let judge = |order: &[usize], on: &dyn Fn(usize) -> bool| {
                let mut seen = Vec::new();
                let mut rails = 0;
                for k in order {
                    let e = &s.events()[*k];
                    if !on(*k) {
                        continue;
                    }
                    if let Some(o) = e.kind.other(c) {
                        if !seen.contains(&o) {
                            seen.push(o);
                        }
                        if seen.len() == 2 {
                            return rails >= 3;
                        }
                    }
                    if let EventKind::Rail { ball, .. } = e.kind
                        && ball == c
                    {
                        rails += 1;
                    }
                }
                false
            };
            let n = s.events().len();
            let base: Vec<usize> = (0..n).collect();
            let conf = |k: usize| s.events()[k].confidence.get();
            let on = |k: usize| conf(k) >= 0.5;
            let verdict = judge(&base, &on);
            let mut why = Vec::new();
            for k in 0..n {
                let p = conf(k);
                if !(0.001..0.999).contains(&p) {
                    continue;
                }
                if judge(&base, &|q| if q == k { !on(q) } else { on(q) }) != verdict {
                    why.push(format!("{:?}@{:.3}?{:.3}", s.events()[k].kind, s.events()[k].at.secs(), p));
                }
            }
            for (a, b, p) in &s.unsure_orders {
                let mut o = base.clone();
                o.swap(*a, *b);
                if on(*a) && on(*b) && judge(&o, &on) != verdict {
                    why.push(format!("order {a} {b} {:.3}", p.get()));
                }
            }
            let d = if !why.is_empty() || s.has(cuemark::events::ShotFlag::EndsBeforeRest) {
                "review"
            } else if verdict {
                "point"
            } else {
                "no_point"
            };
            if !why.is_empty() {
                eprintln!("review {why:?}");
            }
            println!("{}", json!({"type":"ruling","shot":s.no,"decision":d}));
        }
    }
}

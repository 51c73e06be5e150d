use super::*;
use crate::upstream::{Target, UpstreamSettings};
use std::time::Duration;

fn member(name: &str, change: impl FnOnce(&mut UpstreamSettings)) -> Arc<Upstream> {
    let mut settings = UpstreamSettings::default();
    change(&mut settings);
    Upstream::new(name, Target::Tcp(name.into(), 80), settings)
}

fn balancer(members: Vec<Arc<Upstream>>) -> Balancer {
    Balancer::new("b", members, Method::ByRequests, false, true)
}

fn chosen(balancer: &Balancer, times: usize) -> Vec<usize> {
    (0..times).map(|_| balancer.choose(Choice::default()).unwrap().index).collect()
}

#[test]
fn requests_are_shared_by_load_factor() {
    let balancer = balancer(vec![member("a", |s| s.load_factor = 300), member("b", |_| {})]);
    let all = chosen(&balancer, 8);
    assert_eq!(all.iter().filter(|index| **index == 0).count(), 6, "{all:?}");
    assert_eq!(all[..4].iter().filter(|index| **index == 1).count(), 1, "spread, not in blocks: {all:?}");
}

#[test]
fn a_member_that_fails_is_left_alone_and_comes_back() {
    let balancer = balancer(vec![member("a", |s| s.retry = Duration::ZERO), member("b", |_| {})]);
    balancer.members()[1].fail();
    assert_eq!(chosen(&balancer, 3), [0, 0, 0]);
    balancer.members()[0].fail();
    assert!(chosen(&balancer, 2).contains(&0), "its retry is over at once");
}

#[test]
fn all_in_error_are_tried_at_once_unless_that_is_unwanted() {
    let members = || vec![member("a", |_| {}), member("b", |_| {})];
    let eager = balancer(members());
    eager.members().iter().for_each(|member| member.fail());
    assert!(eager.choose(Choice::default()).is_ok());
    let patient = Balancer::new("b", members(), Method::ByRequests, false, false);
    patient.members().iter().for_each(|member| member.fail());
    assert_eq!(patient.choose(Choice::default()).unwrap_err(), NoMember::Usable);
}

#[test]
fn standbys_and_higher_sets_wait_for_the_others_to_fail() {
    let balancer = balancer(vec![
        member("a", |_| {}),
        member("b", |s| s.states = States::HOT_STANDBY),
        member("c", |s| s.set = 1),
    ]);
    assert_eq!(chosen(&balancer, 3), [0, 0, 0]);
    balancer.members()[0].fail();
    assert_eq!(chosen(&balancer, 2), [2, 2], "the next set comes before a standby");
    balancer.members()[2].fail();
    assert_eq!(chosen(&balancer, 2), [1, 1]);
}

#[test]
fn a_spare_takes_the_place_of_one_that_can_not() {
    let balancer = balancer(vec![
        member("a", |_| {}),
        member("b", |_| {}),
        member("c", |s| s.states = States::HOT_SPARE),
    ]);
    assert!(!chosen(&balancer, 6).contains(&2));
    balancer.members()[0].fail();
    let all = chosen(&balancer, 6);
    assert!(all.contains(&1) && all.contains(&2), "{all:?}");
}

#[test]
fn disabled_stopped_and_drained_members_take_no_new_requests() {
    for state in [States::DISABLED, States::STOPPED, States::DRAIN] {
        let balancer = balancer(vec![member("a", |s| s.states = state), member("b", |_| {})]);
        assert_eq!(chosen(&balancer, 3), [1, 1, 1], "{state:?}");
    }
}

fn session(route: &str) -> Session {
    Session { route: Some(route.to_owned()), name: "SID".to_owned() }
}

#[test]
fn a_session_stays_where_it_is_while_that_can_be() {
    let members = || {
        vec![
            member("a", |s| s.route = "a".into()),
            member("b", |s| (s.route, s.states) = ("b".into(), States::DRAIN)),
        ]
    };
    let balancer = balancer(members());
    let (of_b, lost) = (session("b"), session("zzz"));
    let choice = Choice { session: Some(&of_b), tried: &[] };
    let found = balancer.choose(choice).unwrap();
    assert_eq!((found.index, found.route_changed), (1, false), "its own, though it takes nobody else's");
    balancer.members()[1].fail();
    let found = balancer.choose(choice).unwrap();
    assert_eq!((found.index, found.route_changed), (0, true));
    let found = balancer.choose(Choice { session: Some(&lost), tried: &[] }).unwrap();
    assert!(found.route_changed);
    let strict = Balancer::new("b", members(), Method::ByRequests, true, true);
    strict.members()[1].fail();
    assert_eq!(strict.choose(choice).unwrap_err(), NoMember::OfSession);
}

#[test]
fn what_was_tried_is_not_tried_again() {
    let balancer = balancer(vec![member("a", |s| s.states = States::IGNORE_ERRORS), member("b", |_| {})]);
    assert_eq!(balancer.choose(Choice { tried: &[0], session: None }).unwrap().index, 1);
    assert!(balancer.choose(Choice { tried: &[0, 1], session: None }).is_err());
}

#[test]
fn the_least_busy_and_the_least_fed_come_first() {
    let members = || vec![member("a", |_| {}), member("b", |_| {})];
    let busy = Balancer::new("b", members(), Method::ByBusyness, false, true);
    busy.members()[0].busy.store(2, Relaxed);
    assert_eq!(chosen(&busy, 3), [1, 1, 1]);
    busy.members()[0].busy.store(0, Relaxed);
    let all = chosen(&busy, 8);
    assert!(all.contains(&0) && all.contains(&1), "who is as busy takes turns: {all:?}");
    let fed = Balancer::new("b", members(), Method::ByTraffic, false, true);
    fed.members()[0].count(500, 500);
    assert_eq!(chosen(&fed, 2), [1, 1]);
}

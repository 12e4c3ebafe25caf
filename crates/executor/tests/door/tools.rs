use super::support::{
    Door, Script, Setup, TestTool, Unclassable, failed, in_manager, model_for, ok, on_host, open,
};
use gate::{CallRequest, RawToolPolicy};
use model::{CallState, Role, SessionId, UserId};
use serde_json::{Value, json};
use skill::SkillErrorKind;
use storage::calls::CallFilter;

#[tokio::test]
async fn a_batch_answers_with_what_each_host_said_and_why_others_did_not() {
    let door = open(Setup::default()).await;
    door.script([Script::Answer(ok("{\"load1\":0.5}")), Script::Answer(failed("the disk is gone"))]);
    let outcome = door.run(in_manager("host_load", json!({"edge_ids": [1, 2, 3, 9]}))).await;
    assert_eq!(outcome.state, CallState::Succeeded, "{outcome:?}");
    let result = outcome.result.unwrap();
    assert_eq!((&result["succeeded"], &result["failed"]), (&json!(1), &json!(3)));
    let hosts = result["hosts"].as_array().unwrap();
    assert_eq!(hosts.iter().map(|host| host["edge_id"].as_i64().unwrap()).collect::<Vec<_>>(), [1, 2, 3, 9]);
    assert_eq!(hosts.iter().filter(|host| host["result"] == json!({"load1": 0.5})).count(), 1);
    assert_eq!(hosts.iter().filter(|host| host["error"] == "the disk is gone").count(), 1);
    assert_eq!((&hosts[2]["state"], &hosts[2]["name"]), (&json!("refused"), &json!("web-3")));
    assert!(hosts[2]["error"].as_str().unwrap().contains("is offline"));
    assert!(hosts[3]["error"].as_str().unwrap().contains("no host with the id 9"));

    let filter = CallFilter { parent: Some(outcome.call_id), ..CallFilter::default() };
    let children = door.storage.calls().list(&filter, None, 10).await.unwrap();
    assert_eq!(children.len(), 4, "each child is on record");
    assert_eq!(outcome.children.len(), 4);
    assert!(children.iter().all(|row| outcome.children.contains(&row.id) && row.caller == UserId(7)));
}

#[tokio::test]
async fn a_batch_in_which_no_host_answers_fails_with_the_reasons() {
    let door = open(Setup::default()).await;
    let outcome = door.run(in_manager("host_load", json!({"edge_ids": [3]}))).await;
    assert_eq!(outcome.state, CallState::Failed);
    assert!(outcome.error.unwrap().contains("Host `web-3` (edge 3) is offline"));
}

#[tokio::test]
async fn the_children_of_a_batch_are_gated_on_their_own() {
    let policy = RawToolPolicy {
        tools: [("host_processes".to_owned(), "deny".to_owned())].into(),
        ..RawToolPolicy::default()
    };
    let door = open(Setup { policy, ..Setup::default() }).await;
    let outcome = door.run(in_manager("host_processes", json!({"edge_ids": [1]}))).await;
    assert_eq!(outcome.state, CallState::Refused);
    let narrowed = gate::Narrowing::Only(["host_load".to_owned()].into());
    let request = CallRequest { narrowing: narrowed, ..in_manager("host_load", json!({"edge_ids": [1]})) };
    assert_eq!(door.run(request).await.state, CallState::Succeeded);
}

#[tokio::test]
async fn the_batch_of_processes_passes_the_skills_own_parameters_on() {
    let door = open(Setup::default()).await;
    let args = json!({"edge_ids": [2], "top_n": 3, "sort_by": "mem"});
    assert_eq!(door.run(in_manager("host_processes", args)).await.state, CallState::Succeeded);
    assert_eq!(door.seen()[0].args, json!({"top_n": 3, "sort_by": "mem"}));
}

#[test]
fn a_batch_has_the_parameters_of_its_skill() {
    let skills = skills::capabilities();
    for tool in tools::capabilities().unwrap() {
        let Some(skill) = skills.iter().find(|skill| skill.definition().key == tool.definition().key) else {
            continue;
        };
        let own = |params: &Value| params["properties"].as_object().cloned().unwrap_or_default();
        let (batch, single) = (own(&tool.definition().params), own(&skill.definition().params));
        let expected: Vec<&String> = single.keys().collect();
        let found: Vec<&String> = batch.keys().filter(|key| *key != "edge_ids").collect();
        assert_eq!(found, expected, "{}", tool.definition().key);
        for (name, schema) in &single {
            for bound in ["minimum", "maximum", "minLength", "maxLength", "default"] {
                assert_eq!(
                    batch[name].get(bound),
                    schema.get(bound),
                    "{} {name} {bound}",
                    tool.definition().key
                );
            }
        }
    }
}

#[tokio::test]
async fn the_hosts_are_listed_with_their_state() {
    let door = open(Setup::default()).await;
    let result = door.run(in_manager("query_edges", json!({"status": "offline"}))).await.result.unwrap();
    assert_eq!((&result["total"], &result["online"], &result["matched"]), (&json!(4), &json!(3), &json!(1)));
    assert_eq!(result["hosts"][0]["name"], "web-3");
}

/// A stored result of 20,000 lines.
async fn large(door: &Door, request: CallRequest) -> model::CallId {
    let outcome = door
        .run(CallRequest { key: "test_tool".to_owned(), args: json!({"action": "large"}), ..request })
        .await;
    assert_eq!(outcome.state, CallState::Succeeded);
    assert!(door.row(outcome.call_id).await.result_artifact.is_some());
    outcome.call_id
}

#[tokio::test]
async fn a_large_result_is_read_page_by_page_and_the_pages_are_not_stored_again() {
    let door = open(Setup { tools: vec![TestTool::leaked()], ..Setup::default() }).await;
    let id = large(&door, in_manager("test_tool", json!({}))).await;
    let outcome = door.run(in_manager("read_result", json!({"call_id": id, "offset": 19_990}))).await;
    let page = outcome.result.unwrap();
    assert_eq!((&page["total_lines"], &page["next_offset"]), (&json!(20_000), &Value::Null));
    assert_eq!(page["lines"].as_array().unwrap().len(), 10);
    assert_eq!(page["lines"][9], json!({"line": 20_000, "text": "line with words"}));
    assert_eq!(door.storage.calls().result_text(outcome.call_id).await.unwrap(), None);
    let again = door.run(in_manager("read_result", json!({"call_id": outcome.call_id}))).await;
    assert_eq!(again.error_kind, Some(SkillErrorKind::NotFound));
    assert!(again.error.unwrap().contains("is not stored"));
}

#[tokio::test]
async fn results_of_others_and_of_other_chats_can_not_be_read() {
    let door = open(Setup { tools: vec![TestTool::leaked()], ..Setup::default() }).await;
    let (chat, other_chat) = (SessionId::generate(), SessionId::generate());
    let in_chat = |session, args| CallRequest {
        caller: model_for(Role::Viewer),
        session: Some(session),
        ..in_manager("read_result", args)
    };
    let id = large(&door, in_chat(chat, json!({}))).await;
    let args = json!({"call_id": id, "limit": 1});
    assert_eq!(door.run(in_chat(chat, args.clone())).await.state, CallState::Succeeded);
    assert_eq!(door.run(in_chat(other_chat, args.clone())).await.error_kind, Some(SkillErrorKind::NotFound));
    // The owner may, outside of any chat; somebody else may not.
    assert_eq!(door.run(in_manager("read_result", args.clone())).await.state, CallState::Succeeded);
    let mut stranger = in_manager("read_result", args);
    stranger.caller.user = UserId(8);
    assert_eq!(door.run(stranger).await.error_kind, Some(SkillErrorKind::NotFound));
}

#[tokio::test]
async fn a_call_without_a_result_says_why_there_is_none() {
    let door = open(Setup::default()).await;
    let refused = door.run(on_host(3, "host_load", json!({}))).await;
    let outcome = door.run(in_manager("read_result", json!({"call_id": refused.call_id}))).await;
    assert!(outcome.error.unwrap().contains("has no result; it is `refused`"));
}

#[tokio::test]
async fn a_call_whose_classing_panics_is_refused_and_on_record_and_nothing_runs() {
    let tool = Unclassable::leaked();
    let door = open(Setup { tools: vec![tool], ..Setup::default() }).await;
    let outcome = door.run(in_manager("unclassable", json!({}))).await;
    assert_eq!(outcome.state, CallState::Refused);
    let row = door.row(outcome.call_id).await;
    assert_eq!((row.state, row.class), (CallState::Refused, model::Class::Dangerous));
    assert!(row.error.unwrap().contains("could not be classed"));
    assert_eq!(door.audit_kinds(outcome.call_id).await, ["call.refused"]);
    assert!(!tool.ran.load(std::sync::atomic::Ordering::SeqCst));
}

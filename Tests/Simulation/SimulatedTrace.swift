import Foundation
@testable import SharedStateRedis

/// Descriptions of the events of a schedule.
enum SimulatedTrace {
  static func text(_ request: RedisRequest) -> String {
    switch request.command {
    case .read(let names): "\(request.id) read \(names.map(\.value))"
    case .summarize(let names, _): "\(request.id) summarize \(names.map(\.value))"
    case .trackAgain(let names): "\(request.id) track again \(names.map(\.value))"
    case .base(let key, _): "\(request.id) base \(key)"
    case .document(let names, _): "\(request.id) document \(names.value)"
    case .subscribe(let channels): "\(request.id) subscribe \(channels)"
    case .unsubscribe(let channels): "\(request.id) unsubscribe \(channels)"
    case .ping, .role, .vitals, .secret, .track, .wait: "\(request.id) \(request.command)"
    case .commit(let commit):
      "\(request.id) commit \(commit.operation.number) of \(text(commit)) to \(commit.names.value) if \(commit.condition)\(commit.seen?.text ?? "")"
    case .restore(let restore):
      "\(request.id) restore \(text(StoredValue(meta: restore.meta, content: restore.content))) in \(restore.names.value)"
    }
  }

  private static func text(_ commit: Commit) -> String {
    if case .document(let data, _) = commit.content { text(data) } else { "\(commit.content)" }
  }

  static func text(_ stored: StoredValue) -> String {
    let meta =
      stored.meta.map { "\($0.revision)<\($0.parent) \($0.kind) \($0.expiry) \($0.writer)\($0.lineage.text)" } ?? "-"
    return "[\(meta)] \(text(stored.content))"
  }

  static func text(_ toShow: Replica.StateToShow) -> String {
    "\(toShow.state.revision) \(text(toShow.state.content)) for \(toShow.stamp.map(String.init) ?? "-")"
  }

  static func text(_ content: StoredValue.Content) -> String {
    if case .document(let data) = content { text(data) } else { "\(content)" }
  }

  static func text(_ data: Data) -> String {
    String(decoding: data, as: UTF8.self).trimmingCharacters(in: .whitespaces)
  }

  static func text(_ event: RedisEvent) -> String {
    switch event {
    case .message(_, let payload): "message \(text(payload).replacingOccurrences(of: "\n", with: " "))"
    case .invalidated(let keys): "invalidated \(keys?.description ?? "all")"
    case .reply(let id, .values(let values)): "\(id) \(values.map { text($0) })"
    case .reply(let id, .summaries(let summaries)):
      "\(id) \(summaries.map { text(StoredValue(meta: $0.meta, content: .oversized($0.length ?? -1))) })"
    case .reply(let id, .commit(.conflict(let stored, _))): "\(id) conflict \(text(stored))"
    case .reply(let id, let reply): "\(id) \(reply)"
    }
  }

  static func text(_ call: SimulatedService.Call) -> String {
    switch call {
    case .unlock(let box, let mutates): "lets go of \(box.name), \(mutates ? "changed" : "unchanged")"
    case .report(let box): "reports \(box.name)"
    case .endWatch(let box, let watch): "ends the watch \(watch) of \(box.name)"
    case .returned(let box, let stamp): "is back from mutating \(box.name) \(stamp)"
    case .save(let box): "saves \(box.name) \(box.stamp)"
    case .reset(let box): "is about to reset \(box.name)"
    case .resetUpTo(let box, let stamp): "resets \(box.name) \(stamp)"
    case .update(let box, let update): "updates \(box.name) \(update.kind)"
    case .load(let box): "loads \(box.name)"
    case .flush: "flushes"
    case .endFlush: "has flushed"
    }
  }
}

import SharedState
@testable import SharedStateRedis
import SharedStateRedisTesting

/// The calls of the program on its shares. Wherever a real thread can be interrupted, a call is split into steps.
extension Simulation {
  func use() {
    guard let service = any(services) else { return }
    let shared = service.boxes.values.filter(\.hasShare).sorted { $0.id < $1.id }
    guard let box = any(shared) else { return share(in: service) }
    switch any(habits.uses) {
    case .share: share(in: service)
    case .mutate, nil: mutate(box, in: service)
    case .hold:
      guard !box.isLocked else { return }
      box.lock()
      note("service \(service.index) holds \(box.name)")
      service.callers.append(.init(holding: box, [.unlock(box, mutates: chance(2))]))
    case .save: service.callers.append(.init(holding: box, [.save(box)]))
    case .load: service.callers.append(.init(holding: box, [.load(box)]))
    case .update:
      let kind = chance(2) ? .increment : any(SimulatedUpdate.Kind.allCases) ?? .increment
      let update = SimulatedUpdate(kind, number: nextUpdate, of: box, begun: now)
      nextUpdate += 1
      recorder.record(.updateBegan(box.place, number: update.number, changes: kind == .increment))
      service.callers.append(.init(holding: box, [.update(box, update)]))
    case .reset: service.callers.append(.init(holding: box, [.reset(box)]))
    case .flush: service.callers.append(.init([.flush]))
    case .cancel: cancel(in: service)
    case .drop:
      box.hasShare = false
      service.leaveIfUnused(box)
    }
  }

  /// A waiter stops waiting.
  func cancel(in service: SimulatedService) {
    guard let waiter = any(service.promises.keys.sorted()) else { return }
    let caller = SimulatedService.Caller([])
    let promise = service.promises.removeValue(forKey: waiter)
    if let update = service.updates.removeValue(forKey: waiter) {
      let isUnderWay = service.update(&caller.tasks) { $0.cancelUpdate(waiter) }
      end(update, isUnderWay ? .abandoned : .failed)
    } else {
      service.update(&caller.tasks) { $0.forget(waiter) }
    }
    if let box = promise?.box { service.leaveIfUnused(box) }
    service.callers.append(caller)
  }

  func mutate(_ box: SimulatedBox, in service: SimulatedService) {
    guard !box.isLocked else { return }
    service.callers.append(.init(holding: box, change(box, in: service)))
  }

  /// Mutates the value in a closure. Returns the remaining calls of its thread.
  private func change(_ box: SimulatedBox, in service: SimulatedService) -> [SimulatedService.Call] {
    let change = SimulatedChange.any(of: box.value, after: box.pendingFields, &random, makeNumber: makeValue)
    let isReported = box.mutate(change)
    note("service \(service.index) mutates \(box.name): \(box.value) \(box.stamp)")
    let returned = SimulatedService.Call.returned(box, stamp: box.stamp)
    return isReported ? [.report(box), returned] : [returned]
  }

  func share(in service: SimulatedService) {
    guard let names = any(names), var policy = policies[names] else { return }
    if let box = service.boxes.values.first(where: { $0.names == names && !$0.hasLeft }) {
      // The registry finds the box that the link keeps.
      box.hasShare = true
      return
    }
    let caller = SimulatedService.Caller([])
    policy.writer = service.link.configuration.writer
    let box = SimulatedBox(
      names: names,
      policy: policy,
      release: service.release,
      service: service.name,
      recorder: recorder
    )
    recorder.record(.opened(box.place, default: box.release.recordedDefault, owns: []))
    service.joined += 1
    service.update(&caller.tasks) { link in
      guard
        let id = try? link.join(names, name: names.value, valueType: "Value", policy: policy)
      else { return failed("joining \(names.value) failed") }
      box.id = id
      service.boxes[id] = box
    }
    service.callers.append(caller)
  }

  /// A thread of the program waits for the closure of another. The thread of the link never does.
  func canProceed(_ caller: SimulatedService.Caller) -> Bool {
    guard caller.tasks.isEmpty else { return true }
    switch caller.calls.first {
    case .report(let box), .endWatch(let box, _): return !box.isLocked
    default: return true
    }
  }

  func proceed(_ caller: SimulatedService.Caller, in service: SimulatedService) {
    if !caller.tasks.isEmpty {
      // More may be added for this thread meanwhile.
      var tasks = caller.tasks
      caller.tasks = []
      perform(tasks.removeFirst(), in: service, &tasks)
      caller.tasks = tasks + caller.tasks
    } else if !caller.calls.isEmpty {
      let call = caller.calls.removeFirst()
      make(call, by: caller, in: service)
    } else {
      service.callers.removeAll { $0 === caller }
      if let owner = caller.owner { service.performers[owner] = nil }
      if let box = caller.box { service.leaveIfUnused(box) }
    }
  }

  func make(_ call: SimulatedService.Call, by caller: SimulatedService.Caller, in service: SimulatedService) {
    note("service \(service.index) \(SimulatedTrace.text(call))")
    switch call {
    case .unlock(let box, let mutates):
      // Mutations come before the deferred work, while the lock is held.
      let calls = mutates ? change(box, in: service) : []
      let (shown, hasSnapshot) = box.unlock()
      if let (toShow, outcome) = shown { caller.tasks.append(.endedShowing(box, toShow, outcome)) }
      if hasSnapshot { caller.tasks.append(.unlocked(box)) }
      caller.calls += calls
    case .report(let box):
      guard let watch = box.watch else { return }
      caller.calls.insert(.endWatch(box, watch), at: 0)
      service.update(&caller.tasks, sending: box.id) { link in
        box.isKept = true
        link.changed(box.id)
      }
      recordLoad(of: service)
    case .endWatch(let box, let watch):
      box.endWatch(watch)
    case .returned(let box, let stamp):
      box.returnedStamp = max(box.returnedStamp, stamp)
    case .save(let box):
      service.update(&caller.tasks, sending: box.id) { link in
        guard let waiter = try? link.save(box.id, stamp: box.stamp, now: now) else { return failed("save() failed") }
        box.isKept = true
        service.promises[waiter] = .init(.applied(box, stamp: box.stamp), holding: box)
      }
    case .reset(let box):
      // As in the shell, the lock is taken later.
      caller.calls.insert(.resetUpTo(box, stamp: box.stamp), at: 0)
    case .resetUpTo(let box, let stamp):
      service.update(&caller.tasks) { link in
        guard let waiter = try? link.reset(box.id, stamp: stamp, now: now) else { return failed("reset() failed") }
        box.isKept = true
        service.promises[waiter] = .init(.applied(box, stamp: stamp), holding: box)
      }
    case .update(let box, let update):
      service.update(&caller.tasks, sending: box.id) { link in
        guard let waiter = try? link.update(box.id, now: now) else { return failed("updateAtomically() failed") }
        service.updates[waiter] = update
        service.promises[waiter] = .init(.updated(update), holding: box)
      }
    case .load(let box):
      service.update(&caller.tasks) { link in
        guard let waiter = try? link.load(box.id, now: now) else { return failed("load() failed") }
        // A lost value is not shown as missing before other services have had time to restore it.
        var revision = Revision.none
        // While two servers are primaries, nobody knows where the first connection of a service will lead.
        if let server = other == nil ? here : service.route?.server {
          visit(server) {
            let stored = stored(box.names)
            if !stored.isGone { revision = stored.revision }
          }
        }
        service.promises[waiter] = .init(.shows(box, revision, losses: losses), holding: box)
      }
    case .flush:
      let flush = SimulatedFlush()
      // A box that the flush does not wait for has to be saved already.
      var settled = service.boxes
      let pending = service.link.members.ids.filter { service.link.members[$0]?.replica.hasPendingChange ?? false }
      // A waiter for a value that cannot be read has ended already.
      for (id, waiter) in zip(pending, service.update(&caller.tasks, { $0.flush(until: now + .seconds(5)) })) {
        guard let box = settled.removeValue(forKey: id) else { continue }
        flush.left += 1
        service.promises[waiter] = .init(.applied(box, stamp: box.returnedStamp), of: flush)
      }
      for box in settled.values { recordSaved(box, box.returnedStamp) }
      if flush.left == 0 { caller.calls.append(.endFlush(flush)) }
    case .endFlush(let flush):
      let report = service.update(&caller.tasks) { $0.givenUp.take(with: flush.heard) }
      recorder.record(.flushed(service: service.name, reportsGivenUp: report != nil))
    }
  }

  func perform(
    _ task: SimulatedService.Task,
    in service: SimulatedService,
    _ tasks: inout [SimulatedService.Task]
  ) {
    switch task {
    case .encode(let id, let encoding): tasks.insert(.send(encode(encoding, of: id, in: service)), at: 0)
    case .send(let outcome): send(outcome, in: service, &tasks)
    case .show(let box, let toShow):
      guard let outcome = box.hasLeft ? .outdated : box.show(toShow) else {
        return note("service \(service.index) defers \(box.name) \(SimulatedTrace.text(toShow))")
      }
      note(
        "service \(service.index) shows \(box.name) \(SimulatedTrace.text(toShow)): \(outcome), has \(box.value) \(box.stamp)"
      )
      // In the shell this is a step of its own, so it becomes the next task here.
      tasks.insert(.endedShowing(box, toShow, outcome), at: 0)
    case .endedShowing(let box, let toShow, let outcome):
      service.update(&tasks) { $0.endedShowing(toShow, of: box.id, outcome: outcome) }
    case .unlocked(let box):
      service.update(&tasks) { $0.unlocked(box.id) }
    case .status(let box, let path, let value, let number):
      box[keyPath: path].set(value, number: number)
    case .release(let box):
      service.leaveIfUnused(box)
    case .wake:
      service.thread.isWoken = true
    case .resume(let waiter, let error):
      note("service \(service.index) resumes \(waiter) \(error.debugDescription)")
      guard let promise = service.promises.removeValue(forKey: waiter) else { return }
      resolve(promise.content, error, in: service)
      if case .applied(let box, _) = promise.content, promise.flush == nil, error == nil, box.hasGivenUp {
        recorder.record(.stored(box.place))
      }
      if let flush = promise.flush { advance(flush, error, in: service) }
      if let box = promise.box { service.leaveIfUnused(box) }
    }
  }

  /// A waiter is told the outcome.
  private func resolve(
    _ promise: SimulatedService.Promise.Content,
    _ error: RedisSharedStateError?,
    in service: SimulatedService
  ) {
    switch promise {
    case .applied(let box, let stamp):
      if error == nil { recordSaved(box, stamp) }
    case .shows(let box, let revision, let losses):
      guard error == nil, losses == self.losses, box.stamp == box.acknowledgedStamp, box.hasShare else { return }
      // A local change has yielded since the waiter was resumed. The version that it yielded to is shown next.
      guard !box.hasGivenUp else { return }
      let replica = service.link.members[box.id]?.replica
      // Only the meta of the newest version is left on the server, and another service may still have its document.
      // Until that is known, the verified version is all that there is to show.
      let awaited = replica?.online?.repairs.wait?.stored
      if let awaited, awaited.meta != nil, awaited.isGone { return }
      // The same content may have got another revision.
      let reflected = max(box.revision, replica?.shown.baseRevision ?? .none)
      if reflected < revision {
        failed("load() ended with \(box.name) at \(reflected) when \(revision) had been stored")
      }
    case .updated(let update):
      switch error?.code {
      case nil: end(update, .succeeded(nil))
      case .outcomeUnknown:
        let isOver = now - update.begun >= SimulatedService.operationTimeout
        end(update, isOver ? .abandoned : .unknown)
      default: end(update, .failed)
      }
    }
  }

  private func advance(_ flush: SimulatedFlush, _ error: RedisSharedStateError?, in service: SimulatedService) {
    if case .changesGivenUp(let names, _)? = error?.cause { flush.heard.formUnion(names.map { Name($0) }) }
    flush.left -= 1
    if flush.left == 0 { service.callers.append(.init([.endFlush(flush)])) }
  }

  // MARK: The history

  private func end(_ update: SimulatedUpdate, _ outcome: RedisHistory.Outcome) {
    recorder.record(.updateEnded(update.box.place, number: update.number, outcome))
  }

  private func recordSaved(_ box: SimulatedBox, _ stamp: UInt64) {
    recorder.record(.saved(box.place, through: Int(stamp)))
  }

  func recordLoad(of service: SimulatedService) {
    if let load = service.takeLoad() { recorder.record(.kept(service: service.name, load)) }
  }
}

@testable import SharedStateRedis

/// What the program does with its shares, each call in the steps between which its thread can be interrupted.
extension Simulation {
  func use() {
    guard let service = any(services) else { return }
    let shared = service.boxes.values.filter(\.hasShare).sorted { $0.id < $1.id }
    guard let box = any(shared) else { return share(in: service) }
    switch any(habits.uses) {
    case .share: share(in: service)
    case .mutate, nil: mutate(box, in: service)
    case .save: service.callers.append(.init(holding: box, [.save(box)]))
    case .load: service.callers.append(.init(holding: box, [.load(box)]))
    case .update:
      let update = SimulatedUpdate(any(SimulatedUpdate.Kind.allCases) ?? .increment, restarts: restarts, begun: now)
      service.callers.append(.init(holding: box, [.update(box, update)]))
    case .reset: service.callers.append(.init(holding: box, [.reset(box)]))
    case .flush: service.callers.append(.init([.flush]))
    case .cancel: cancel(in: service)
    case .drop:
      box.hasShare = false
      service.leaveIfUnused(box)
    }
  }

  /// Somebody stops waiting.
  func cancel(in service: SimulatedService) {
    guard let waiter = any(service.promises.keys.sorted()) else { return }
    let caller = SimulatedService.Caller([])
    service.update(&caller.tasks) { $0.forget(waiter) }
    let promise = service.promises.removeValue(forKey: waiter)
    service.updates.removeValue(forKey: waiter)?.answer = .unknown
    if let box = promise?.box { service.leaveIfUnused(box) }
    service.callers.append(caller)
  }

  func mutate(_ box: SimulatedBox, in service: SimulatedService) {
    let field = any(box.release.settableFields) ?? .first
    let isReported = box.mutate(field, to: makeValue())
    note("service \(service.index) mutates \(box.name): \(box.value) \(box.stamp)")
    let returned = SimulatedService.Call.returned(box, stamp: box.stamp)
    service.callers.append(.init(holding: box, isReported ? [.report(box), returned] : [returned]))
  }

  func share(in service: SimulatedService) {
    guard let names = any(names), var policy = policies[names.value] else { return }
    if let box = service.boxes.values.first(where: { $0.names == names && !$0.hasLeft }) {
      // The registry finds what the link keeps.
      box.hasShare = true
      return
    }
    let caller = SimulatedService.Caller([])
    policy.writer = service.link.configuration.writer
    let box = SimulatedBox(names: names, policy: policy, release: service.release)
    service.update(&caller.tasks) { link in
      guard
        let id = try? link.join(names, name: names.value, valueType: "Value", policy: policy)
      else { return violated("joining \(names.value) failed") }
      box.id = id
      service.boxes[id] = box
    }
    service.callers.append(caller)
  }

  func proceed(_ caller: SimulatedService.Caller, in service: SimulatedService) {
    if !caller.tasks.isEmpty {
      perform(caller.tasks.removeFirst(), in: service, &caller.tasks)
    } else if !caller.calls.isEmpty {
      let call = caller.calls.removeFirst()
      make(call, by: caller, in: service)
    } else {
      service.callers.removeAll { $0 === caller }
      if let box = caller.box { service.leaveIfUnused(box) }
    }
  }

  func make(_ call: SimulatedService.Call, by caller: SimulatedService.Caller, in service: SimulatedService) {
    note("service \(service.index) \(SimulatedTrace.text(call))")
    switch call {
    case .report(let box):
      guard let watch = box.watch else { return }
      caller.calls.insert(.endWatch(box, watch), at: 0)
      service.update(&caller.tasks) { link in
        box.isKept = true
        link.changed(box.id)
      }
    case .endWatch(let box, let watch):
      box.endWatch(watch)
    case .returned(let box, let stamp):
      box.returnedStamp = max(box.returnedStamp, stamp)
    case .save(let box):
      service.update(&caller.tasks) { link in
        guard let waiter = try? link.save(box.id, stamp: box.stamp, now: now) else { return violated("save() failed") }
        box.isKept = true
        service.promises[waiter] = .init(.applied(box, stamp: box.stamp), holding: box)
      }
    case .reset(let box):
      // As in the shell, the lock comes later.
      caller.calls.insert(.resetUpTo(box, stamp: box.stamp), at: 0)
    case .resetUpTo(let box, let stamp):
      service.update(&caller.tasks) { link in
        guard let waiter = try? link.reset(box.id, stamp: stamp, now: now) else { return violated("reset() failed") }
        box.isKept = true
        service.promises[waiter] = .init(.applied(box, stamp: stamp), holding: box)
      }
    case .update(let box, let update):
      service.update(&caller.tasks) { link in
        guard let waiter = try? link.update(box.id, now: now) else { return violated("updateAtomically() failed") }
        service.updates[waiter] = update
        service.promises[waiter] = .init(.updated(update), holding: box)
      }
    case .load(let box):
      service.update(&caller.tasks) { link in
        guard let waiter = try? link.load(box.id, now: now) else { return violated("load() failed") }
        service.promises[waiter] = .init(.shows(box, stored(box.name).revision, losses: losses), holding: box)
      }
    case .flush:
      // What is not waited for has to be done already.
      var settled = service.boxes
      for waiter in service.update(&caller.tasks, { $0.flush(until: now + .seconds(5)) }) {
        guard let id = service.link.waiters[waiter]?.replica, let box = settled.removeValue(forKey: id) else {
          continue
        }
        service.promises[waiter] = .init(.applied(box, stamp: box.returnedStamp))
      }
      for box in settled.values { check(.applied(box, stamp: box.returnedStamp), of: "flush()", in: service) }
    }
  }

  func perform(
    _ task: SimulatedService.Task,
    in service: SimulatedService,
    _ tasks: inout [SimulatedService.Task]
  ) {
    switch task {
    case .show(let box, let delivery):
      let isOwn = authors[box.name]?[delivery.state.revision] == service.index
      let (outcome, violation) = box.hasLeft ? (.outdated, nil) : box.show(delivery, isOwn: isOwn)
      note(
        "service \(service.index) shows \(box.name) \(delivery.state.revision) for \(delivery.stamp ?? 0): \(outcome), has \(box.value) \(box.stamp)"
      )
      if let violation { violated("service \(service.index): \(violation)") }
      // In the shell this is a step of its own; a task in front makes it one here.
      tasks.insert(.delivered(box, delivery, outcome), at: 0)
    case .delivered(let box, let delivery, let outcome):
      service.update(&tasks) { $0.delivered(delivery, to: box.id, outcome: outcome) }
    case .status(let box, let path, let value, let number):
      box[keyPath: path].set(value, number: number)
    case .release(let box):
      service.leaveIfUnused(box)
    case .wake(let purpose):
      service.thread(for: purpose).isWoken = true
    case .resume(let waiter, let error):
      note("service \(service.index) resumes \(waiter) \(error.debugDescription)")
      guard let promise = service.promises.removeValue(forKey: waiter) else { return }
      if case .updated(let update) = promise.content {
        answer(update, error)
      } else if error == nil {
        check(promise.content, of: "a waiter", in: service)
      }
      if let box = promise.box { service.leaveIfUnused(box) }
    }
  }

  func check(
    _ promise: SimulatedService.Promise.Content,
    of operation: String,
    in service: SimulatedService
  ) {
    switch promise {
    case .applied(let box, let stamp):
      if box.appliedStamp < stamp {
        violated("PendingSurvives: \(operation) was told of \(box.name)'s change \(stamp) after \(box.appliedStamp)")
      }
    case .shows(let box, let revision, let losses):
      guard losses == self.losses, box.stamp == box.acknowledgedStamp, box.hasShare else { return }
      // What is stored may have become another revision of the same.
      let reflected = max(box.revision, service.link.members[box.id]?.replica.baseRevision ?? .none)
      if reflected < revision {
        violated("load() ended with \(box.name) at \(reflected) when \(revision) had been stored")
      }
    case .updated:
      break
    }
  }

  private func answer(_ update: SimulatedUpdate, _ error: RedisSharedStateError?) {
    let isReplaced = update.restarts != restarts
    switch error {
    case nil:
      update.answer = .succeeded
      let effects = update.kind == .increment ? 1 : 0
      if update.effects != effects, !isReplaced {
        violated("ExactlyOnceUpdates: an update (\(update.kind)) has succeeded with \(update.effects) effects")
      }
    case .outcomeUnknown?:
      update.answer = .unknown
      if !isReplaced, now - update.begun < SimulatedService.operationTimeout {
        violated("ExactlyOnceUpdates: the outcome of an update is unknown, although the server is the same")
      }
    default:
      update.answer = .failed
      if update.effects > 0 {
        violated("ExactlyOnceUpdates: an update has failed (\(error.debugDescription)) and took effect")
      }
    }
  }
}

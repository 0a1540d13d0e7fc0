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
    case .flush: service.callers.append(.init([.flush]))
    case .drop:
      box.hasShare = false
      service.leaveIfUnused(box)
    }
  }

  func mutate(_ box: SimulatedBox, in service: SimulatedService) {
    let isReported = box.mutate(to: makeValue())
    let returned = SimulatedService.Call.returned(box, stamp: box.stamp)
    service.callers.append(.init(holding: box, isReported ? [.report(box), returned] : [returned]))
  }

  func share(in service: SimulatedService) {
    guard let name = any(names) else { return }
    if let box = service.boxes.values.first(where: { $0.name == name && !$0.hasLeft }) {
      // The registry finds what the link keeps.
      box.hasShare = true
      return
    }
    let caller = SimulatedService.Caller([])
    let box = SimulatedBox(name: name, service: service.index)
    service.update(&caller.tasks) { link in
      guard
        let id = try? link.join(
          KeyNames(namespace: "", name: name, database: 0),
          name: name,
          valueType: "Int",
          policy: ReplicaPolicy(writer: link.configuration.writer)
        )
      else { return violated("joining \(name) failed") }
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
        service.promises[waiter] = .applied(box, stamp: box.stamp)
      }
    case .load(let box):
      service.update(&caller.tasks) { link in
        guard let waiter = try? link.load(box.id, now: now) else { return violated("load() failed") }
        service.promises[waiter] = .shows(box, revision(of: box.name))
      }
    case .flush:
      // What is not waited for has to be done already.
      var settled = service.boxes
      for waiter in service.update(&caller.tasks, { $0.flush(until: now + .seconds(5)) }) {
        guard let id = service.link.waiters[waiter]?.replica, let box = settled.removeValue(forKey: id) else {
          continue
        }
        service.promises[waiter] = .applied(box, stamp: box.returnedStamp)
      }
      for box in settled.values { check(.applied(box, stamp: box.returnedStamp), of: "flush()") }
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
    case .resume(let waiter, let succeeded):
      guard let promise = service.promises.removeValue(forKey: waiter), succeeded else { return }
      check(promise, of: "a waiter")
    }
  }

  func check(_ promise: SimulatedService.Promise, of operation: String) {
    switch promise {
    case .applied(let box, let stamp):
      if box.appliedStamp < stamp {
        violated("PendingSurvives: \(operation) was told of \(box.name)'s change \(stamp) after \(box.appliedStamp)")
      }
    case .shows(let box, let revision):
      if box.revision < revision && box.stamp == box.acknowledgedStamp && box.hasShare {
        violated("load() ended with \(box.name) at \(box.revision) when \(revision) had been stored")
      }
    }
  }
}

import SharedState

struct Limits {
  var perMinute = 100
  let perDay = 10_000
  var perHour: Int { perMinute * 60 }
}

func limits(limits: Shared<Limits>, reader: SharedReader<Limits>) {
  _ = reader.wrappedValue.perHour
  limits.perMinute.withLock { $0 += 1 }

  #if WRONG
    reader.withLock { $0.perMinute += 1 }  // error: 'withLock' is unavailable: A 'SharedReader' only reads.
    reader.perMinute.withLock { $0 += 1 }  // error: Change the value by a 'Shared' of the same key.
    limits.perDay.withLock { $0 += 1 }  // error: where its property is a 'let' or has no setter.
    limits.perHour.withLock { $0 += 1 }  // error: where its property is a 'let' or has no setter.
    limits.perMinute.withLock { $0 = "many" }  // error: cannot assign value of type 'String' to type 'Int'
  #endif
}

/// What has to be done when the lock is free: the beginnings and the ends of effects are other people's code.
struct Work {
  var tasks: [@Sendable () -> Void] = []
}

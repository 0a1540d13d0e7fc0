import SharedState

func readersAreRead() {
  @SharedReader(.appStorage("isOn")) var isOn = false
  _ = isOn
  @Shared(.appStorage("isOn")) var share = false
  $share.withLock { $0 = true }

  #if WRONG
    isOn = true  // error: cannot assign to value: 'isOn' is a get-only property
  #endif
}

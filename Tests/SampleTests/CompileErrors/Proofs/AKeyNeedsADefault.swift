import SharedState

func keysWithoutDefault() {
  @Shared(.appStorage("count")) var count: Int?
  _ = count
  @Shared(.appStorage("number")) var number = 0
  _ = number

  #if WRONG
    @Shared(.appStorage("other")) var share: Int  // error: Give a default: '@Shared(key) var value = default'
    @SharedReader(.appStorage("other")) var reader: Int  // error: Give a default
  #endif
}

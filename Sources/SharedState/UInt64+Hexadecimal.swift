extension UInt64 {
  /// This many of the number's last hexadecimal digits, in lower case and with leading zeros.
  package func hexadecimal(digits: Int = 16) -> String {
    String(unsafeUninitializedCapacity: digits) { buffer in
      var rest = self
      for place in (0..<digits).reversed() {
        let digit = UInt8(rest & 0xF)
        buffer[place] = digit < 10 ? UInt8(ascii: "0") + digit : UInt8(ascii: "a") + digit - 10
        rest >>= 4
      }
      return digits
    }
  }
}

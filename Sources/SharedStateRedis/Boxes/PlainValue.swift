/// A type whose values are decoded, copied and released without code of the program.
protocol PlainValue {}

extension Bool: PlainValue {}
extension String: PlainValue {}
extension Double: PlainValue {}
extension Float: PlainValue {}
extension Int: PlainValue {}
extension Int8: PlainValue {}
extension Int16: PlainValue {}
extension Int32: PlainValue {}
extension Int64: PlainValue {}
extension UInt: PlainValue {}
extension UInt8: PlainValue {}
extension UInt16: PlainValue {}
extension UInt32: PlainValue {}
extension UInt64: PlainValue {}
extension Optional: PlainValue where Wrapped: PlainValue {}
extension Array: PlainValue where Element: PlainValue {}
extension Set: PlainValue where Element: PlainValue {}
extension Dictionary: PlainValue where Key == String, Value: PlainValue {}

/// The one reference of a key that brings its own kind, instead of being loaded, watched and saved through its methods.
///
/// A requirement of ``SharedReaderKey`` hands it over, because asking whether a key conforms to another protocol costs
/// more than the whole look-up.
@_documentation(visibility: private)
public struct _OwnReference<Value> {
  let reference: ValueReference<Value>

  package init(_ reference: ValueReference<Value>) {
    self.reference = reference
  }
}

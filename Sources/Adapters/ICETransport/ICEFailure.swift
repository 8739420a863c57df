/// Why an agent could not be made or used, as a sentence.
public struct ICEFailure: Error, CustomStringConvertible {
    public let description: String
    public init(_ description: String) { self.description = description }
}

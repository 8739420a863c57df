import BrowserControl
import Testing

/// All tests that start browsers, one after the other, as browsers use much of a small machine.
@Suite(.serialized, .timeLimit(.minutes(5)))
struct InteropTests {}

extension Browser.Kind: CustomTestStringConvertible {
    package var testDescription: String { rawValue }
}

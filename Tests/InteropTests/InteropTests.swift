import BrowserControl
import Testing

/// Everything that starts browsers, one after the other: they take much of a small machine.
@Suite(.serialized, .timeLimit(.minutes(5)))
struct InteropTests {}

extension Browser.Kind: CustomTestStringConvertible {
    package var testDescription: String { rawValue }
}

import BrowserControl
import Testing

/// All tests that start browsers, one after the other, as browsers use much of a small machine.
@Suite(.serialized, .timeLimit(.minutes(5)))
struct InteropTests {}

/// Runs `body` with each browser, with all at the same time: for tests that mostly wait.
func withEachBrowser(_ body: @escaping @Sendable (Browser.Kind) async throws -> Void) async {
    await withTaskGroup(of: Void.self) { group in
        for kind in Browser.Kind.allCases {
            group.addTask {
                do { try await body(kind) } catch { Issue.record("\(kind): \(error)") }
            }
        }
    }
}

extension Browser.Kind: CustomTestStringConvertible {
    package var testDescription: String { rawValue }
}

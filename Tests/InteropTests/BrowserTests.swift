import BrowserControl
import Foundation
import Testing

extension InteropTests {
    /// Tests of the browser drivers themselves.
    @Suite struct BrowserTests {
        @Test(arguments: Browser.Kind.allCases)
        func aPageIsOpenedReadAndPictured(kind: Browser.Kind) async throws {
            try await Browser.with(kind) { browser in
                try await browser.open("data:text/html,<title>hello</title><body style='background:rgb(0,128,0)'>")
                #expect(try await browser.evaluate("document.title") == "hello")
                #expect(try await browser.evaluate("Promise.resolve({a: [1, null, true]})")["a"] == [1, .null, true])
                #expect(try await browser.evaluate("undefined") == .null)
                await #expect(throws: Browser.Failure.self) { try await browser.evaluate("nothing.here") }
                let picture = try await browser.screenshot()
                #expect(picture.prefix(4) == Data([0x89, 0x50, 0x4E, 0x47]))
            }
        }
    }
}

import Admission
import BrowserControl
import MediaCore
import Signaling
import Testing

@testable import Identifiers

extension InteropTests.PlayingPageTests {
    /// The viewer asks for the right with the button, writes, and reads what others write.
    @Test(arguments: Browser.Kind.allCases)
    func commentsAreAskedForWrittenAndShown(kind: Browser.Kind) async throws {
        try await playing(kind) { browser, stage in
            try await tellCount(2, stage, browser)
            let isHidden = "document.getElementById('comment').hidden"
            #expect(try await browser.evaluate(isHidden) == true)
            let session = try #require(await stage.delegate.opened.next())
            stage.broadcast.send(
                .rights(GrantedRights(ViewerRights(comment: .ask, point: .no, control: .no))), to: [session])
            #expect(try await browser.has(false, isHidden))
            try await browser.click("comment")
            #expect(await stage.delegate.messages.next() == .ask(.comment))
            #expect(try await browser.evaluate("document.getElementById('writing').hidden") == true)
            stage.broadcast.send(
                .rights(GrantedRights(ViewerRights(comment: .yes, point: .no, control: .no))), to: [session])
            #expect(try await browser.has("line", "document.activeElement.id"))
            func write(_ text: String) async throws {
                _ = try await browser.evaluate(
                    "(document.getElementById('line').value = '\(text)', document.getElementById('writing').requestSubmit())"
                )
            }
            try await write("Hello <b>all</b>")
            #expect(await stage.delegate.messages.next() == .comment("Hello <b>all</b>"))
            #expect(try await browser.has("", "document.getElementById('line').value"))
            let last = "document.getElementById('comments').lastChild.textContent"
            stage.broadcast.send(.comment(try #require(BroadcastComment(from: "Ann", "Hello <b>all</b>"))))
            #expect(try await browser.has("Ann Hello <b>all</b>", last))
            #expect(try await browser.evaluate("document.querySelectorAll('#comments li b').length") == 1)
            try await write("no")
            #expect(try await browser.has("The host does not allow you to write comments.", last))
            #expect(try await browser.has("no", "document.getElementById('line').value"))
            // Taken back while a line is open.
            stage.broadcast.send(.rights(GrantedRights(.none)), to: [session])
            #expect(try await browser.has([true, true], "[\(isHidden), document.getElementById('writing').hidden]"))
        }
    }
}

import BrowserControl
import Testing

@testable import Identifiers

extension InteropTests {
    /// The page as an application of the browser.
    @Suite struct InstallPageTests {
        /// In a window without a profile, as those of tests, nothing can be installed at all; Chromium tells of no
        /// other reason.
        @Test func chromiumCouldInstallThePage() async throws {
            try await PageStage.with { stage in
                try await Browser.with(.chromium) { browser in
                    try await browser.open(stage.link.text)
                    try await browser.waitForState("asking")
                    let manifest = try await browser.call("Page.getAppManifest")
                    #expect(manifest["url"].string?.hasSuffix("/_/manifest.webmanifest") == true, "\(manifest.text)")
                    #expect(manifest["errors"].array?.isEmpty == true, "\(manifest.text)")
                    let answer = try await browser.call("Page.getInstallabilityErrors")
                    let reasons = answer["installabilityErrors"].array?.compactMap { $0["errorId"].string }
                    #expect(reasons.map { Set($0).subtracting(["in-incognito"]).isEmpty } == true, "\(answer.text)")
                }
            }
        }
    }
}

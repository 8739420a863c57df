import Foundation
import TestSupport
import Testing

/// How sessions end: both peers report the reason, promptly and with the right exit code.
@Suite(.serialized, .timeLimit(.minutes(3)))
struct EndingTests {
    private func watched() throws -> (HostedScreen, ShareProcess) {
        let host = try HostedScreen(["--source", "test", "--audio", "none"])
        let viewer = try host.join()
        _ = try #require(viewer.event("first-picture"), "\(viewer.errorText)")
        return (host, viewer)
    }

    @Test func theHostStopsAndTheViewerSaysSo() throws {
        let (host, viewer) = try watched()
        host.process.interrupt()
        let ended = try #require(viewer.event("ended"))
        #expect(ended["code"] as? String == "hostEnded")
        #expect(viewer.exitCode() == 0)
        #expect(host.process.event("ended")?["code"] as? String == "stopped")
        #expect(host.process.exitCode() == 0)
    }

    @Test func theViewerLeavesAndTheHostSaysSo() throws {
        let (host, viewer) = try watched()
        viewer.interrupt()
        let left = try #require(host.process.event("viewer-left"))
        #expect(left["code"] as? String == "viewerLeft")
        #expect(left["viewers"] as? Int == 0)
        #expect(viewer.exitCode() == 0)
    }

    @Test func aCrashedViewerIsNoticed() throws {
        let (host, viewer) = try watched()
        viewer.kill()
        // Silence alone would take 30 s.
        let left = try #require(host.process.event("viewer-left", seconds: 20))
        #expect(left["code"] as? String == "connectionLost" && left["viewers"] as? Int == 0)
    }

    @Test func aCrashedHostIsNoticed() throws {
        let (host, viewer) = try watched()
        host.process.kill()
        let ended = try #require(viewer.event("ended", seconds: 20))
        #expect(ended["code"] as? String == "connectionLost", "\(ended)")
        #expect(viewer.exitCode() == 74)
    }

    @Test func aDisplayThatGoesEndsTheBroadcast() throws {
        let display = try VirtualDisplay(width: 320, height: 240)
        let host = try HostedScreen(["--display", display.name, "--audio", "none"])
        let viewer = try host.join()
        _ = try #require(viewer.event("first-picture"), "\(viewer.errorText)")
        display.kill()
        #expect(host.process.event("ended")?["code"] as? String == "sourceGone")
        #expect(host.process.exitCode() == 66)
        #expect(viewer.event("ended") != nil)
    }

    /// Otherwise the host would wait for ever, and keep the place of the session's one broadcast.
    @Test func aDisplayThatGoesWhileNobodyWatchesEndsTheBroadcast() throws {
        let display = try VirtualDisplay(width: 320, height: 240)
        let host = try HostedScreen(["--display", display.name, "--audio", "none"])
        display.kill()
        #expect(host.process.event("ended")?["code"] as? String == "sourceGone")
        #expect(host.process.exitCode() == 66)
    }

    /// Others of the machine read arguments, so the link is in the environment alone.
    @Test func othersAreToldThatABroadcastIsLive() throws {
        let folder = try TemporaryFolder()
        let file = folder.file("live")
        let host = try HostedScreen(
            [
                "--source", "test", "--audio", "none", "--name", "Budget", "--on-live",
                "echo \"$SHARE_TITLE $SHARE_URL $SHARE_TOKEN\" > \(file).part; mv \(file).part \(file)",
            ], environment: ["SHARE_TOKEN": "a-token-of-twenty-chars"])
        #expect(folder.waitForFile("live", seconds: 20))
        #expect(try String(contentsOfFile: file, encoding: .utf8) == "Budget \(host.link) \n")
    }

    /// On stderr, so that the user can send it with the link; stdout has the link alone.
    @Test func theHostSaysWhatBrowsersWillWarnOf() throws {
        let host = try ShareProcess([
            "host", "--source", "test", "--audio", "none", "--accept", "any", "--listen", "127.0.0.1:0", "--for", "1",
        ])
        #expect(host.exitCode() == 0)
        #expect(host.lines.count == 1 && host.lines.first?.hasPrefix("https://127.0.0.1:") == true)
        #expect(host.errorText.contains("warn about the certificate"))
        for button in ["Proceed to", "Accept the Risk and Continue", "visit this website"] {
            #expect(host.errorText.contains(button))
        }
        // Nobody is asked, and so nobody compares words.
        #expect(!host.errorText.contains("four words"))
    }

    @Test func theDurationEndsTheBroadcast() throws {
        let host = try HostedScreen(["--source", "test", "--audio", "none", "--for", "1"])
        #expect(host.process.exitCode() == 0)
    }
}

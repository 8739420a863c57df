import Foundation
import NetworkBed

/// Chromium as a screen share: one instance captures a display with getDisplayMedia, another shows it on a second
/// display.
enum Chromium {
    /// The program's path, if it is installed.
    static func find() -> String? {
        ["/usr/bin/chromium", "/usr/bin/google-chrome"].first { FileManager.default.isExecutableFile(atPath: $0) }
    }

    /// VP8, thirty frames a second, the browser's own rate control.
    static let senderPage = """
        <!doctype html><title>sender</title><body style="background:#888">click<script>
        const tell = (path, text) => fetch(path, {method: "POST", body: text})
        const started = onclick = async () => { onclick = null; try {
          const stream = await navigator.mediaDevices.getDisplayMedia({video: {frameRate: {ideal: 30, max: 60}}, audio: false})
          const peer = new RTCPeerConnection()
          const sender = peer.addTransceiver(stream.getVideoTracks()[0], {direction: "sendonly", streams: [stream]})
          const codecs = RTCRtpSender.getCapabilities("video").codecs
          sender.setCodecPreferences([...codecs.filter(c => c.mimeType == "video/VP8"), ...codecs.filter(c => c.mimeType == "video/rtx")])
          await peer.setLocalDescription()
          await new Promise(done => { peer.onicegatheringstatechange = () => peer.iceGatheringState == "complete" && done(); if (peer.iceGatheringState == "complete") done() })
          await tell("/offer", peer.localDescription.sdp)
          for (;;) {
            const reply = await fetch("/answer")
            if (reply.ok) { await peer.setRemoteDescription({type: "answer", sdp: await reply.text()}); break }
            await new Promise(done => setTimeout(done, 100))
          }
          setInterval(async () => {
            for (const report of (await peer.getStats()).values())
              if (report.type == "outbound-rtp") tell("/sent", report.timestamp + " " + (report.bytesSent + report.headerBytesSent) + " " + report.framesEncoded + " " + report.frameWidth)
          }, 1000)
        } catch (error) { tell("/error", "sender: " + error) } }
        tell("/ready", "yes")
        </script>
        """

    /// Shows a page in a window of 1500 x 850.
    static func show(_ page: String, scale: Double, folder: String, display: String) throws -> Subprocess {
        guard let program = find() else { throw BenchmarkFailure("Chromium is missing; run Scripts/setup benchmark") }
        let file = folder + "/page.html"
        try page.write(toFile: file, atomically: true, encoding: .utf8)
        return try start(
            program, profile: folder + "/profile", display: display,
            extra: [
                "--force-device-scale-factor=\(scale)", "--window-position=\(Int(20 / scale)),\(Int(200 / scale))",
                "--window-size=\(Int(1_500 / scale)),\(Int(850 / scale))", "--app=file://\(file)",
            ], in: nil)
    }

    static let viewerPage = """
        <!doctype html><title>viewer</title><style>*{margin:0;cursor:none;overflow:hidden}video{position:fixed;left:0;top:0;width:1920px;height:1080px;object-fit:fill}</style>
        <video autoplay muted playsinline></video><script>
        const tell = (path, text) => fetch(path, {method: "POST", body: text})
        ;(async () => { try {
          let offer
          while (!(offer = await fetch("/offer")).ok) await new Promise(done => setTimeout(done, 100))
          const peer = new RTCPeerConnection()
          peer.ontrack = event => document.querySelector("video").srcObject = event.streams[0]
          await peer.setRemoteDescription({type: "offer", sdp: await offer.text()})
          await peer.setLocalDescription()
          await new Promise(done => { peer.onicegatheringstatechange = () => peer.iceGatheringState == "complete" && done(); if (peer.iceGatheringState == "complete") done() })
          await tell("/answer", peer.localDescription.sdp)
          document.querySelector("video").onplaying = () => tell("/playing", "yes")
        } catch (error) { tell("/error", "viewer: " + error) } })()
        </script>
        """

    /// - Parameter extra: additional arguments of this instance.
    static func start(
        _ program: String, profile: String, display: String, extra: [String], in node: NetworkNode?
    ) throws -> Subprocess {
        try Subprocess(
            program,
            [
                "--no-sandbox", "--user-data-dir=\(profile)", "--no-first-run", "--no-default-browser-check",
                "--disable-gpu", "--disable-dev-shm-usage", "--autoplay-policy=no-user-gesture-required",
                "--allow-loopback-in-peer-connection", "--disable-features=WebRtcHideLocalIpsWithMdns",
                "--disable-backgrounding-occluded-windows", "--disable-renderer-backgrounding",
                "--disable-background-timer-throttling", "--password-store=basic",
            ] + extra, environment: ["DISPLAY": display, "HOME": profile], in: node)
    }
}

/// A session between two instances of Chromium.
struct ChromiumSession {
    let from: String
    let to: String
    let sender: Subprocess
    let mail: MailServer

    /// The sender's last report: time in ms, bytes, frames, width of a frame.
    var sent: [Double] { (mail.paper("/sent") ?? "").split(separator: " ").compactMap { Double($0) } }
    var cpuMilliseconds: Double { sender.figures.familyCPUMilliseconds }
}

/// Runs `body` while one Chromium shows the stream of another.
/// - Parameter start: starts the programs on the sender's display.
func withChromium(
    _ program: String, over path: EmulatedPath? = nil, start: (String) throws -> [Subprocess],
    _ body: (ChromiumSession) throws -> Void
) throws {
    let from = try VirtualDisplay()
    let to = try VirtualDisplay()
    let directory = try TemporaryDirectory()
    let mail = try MailServer(
        pages: ["/sender.html": Chromium.senderPage, "/viewer.html": Chromium.viewerPage],
        in: path.map { [$0.host, $0.viewer] } ?? [])
    defer {
        mail.close()
        from.close()
        to.close()
    }
    func wait(for path: String) throws {
        let deadline = monotonicSeconds() + 20
        while mail.paper(path) == nil {
            if let error = mail.paper("/error") { throw BenchmarkFailure("Chromium: \(error)") }
            guard monotonicSeconds() < deadline else { throw BenchmarkFailure("Chromium: no \(path) after 20 s") }
            Thread.sleep(forTimeInterval: 0.05)
        }
    }
    let sender = try Chromium.start(
        program, profile: directory.path + "/sender", display: from.name,
        extra: [
            "--auto-select-desktop-capture-source=Entire screen", "--enable-usermedia-screen-capturing",
            "--window-size=500,200", "--window-position=1400,860", "--app=http://127.0.0.1:\(mail.port)/sender.html",
        ], in: path?.host)
    defer { sender.terminate() }
    let viewer = try Chromium.start(
        program, profile: directory.path + "/viewer", display: to.name,
        extra: [
            "--kiosk", "--window-size=1920,1080", "--window-position=0,0",
            "--app=http://127.0.0.1:\(mail.port)/viewer.html",
        ], in: path?.viewer)
    defer { viewer.terminate() }
    try wait(for: "/ready")
    // A capture needs a user gesture, and a window that has just opened may miss it.
    for _ in 0..<20 where mail.paper("/offer") == nil {
        let gesture = try Subprocess(
            "xdotool", ["mousemove", "1600", "980", "click", "1", "mousemove", "1900", "10"],
            environment: ["DISPLAY": from.name])
        Thread.sleep(forTimeInterval: 1)
        gesture.terminate()
    }
    try wait(for: "/offer")
    // The scene starts late, as a terminal would cover the page.
    let actors = try start(from.name)
    defer { actors.forEach { $0.terminate() } }
    try wait(for: "/playing")
    Thread.sleep(forTimeInterval: 5)
    try body(ChromiumSession(from: from.name, to: to.name, sender: sender, mail: mail))
}

func measureChromium(_ program: String, _ scene: Scene, seconds: Int) throws -> Measurement {
    var row = Measurement("Chromium", scene)
    try withChromium(program, start: { try scene.start(on: $0, seconds: seconds + 60) }) { session in
        let first = session.sent
        let spent = session.cpuMilliseconds
        let begin = monotonicSeconds()
        row = Measurement("Chromium", scene, try Probe.run(session.to, seconds: seconds))
        row.hostCPU = (session.cpuMilliseconds - spent) / (monotonicSeconds() - begin)
        let last = session.sent
        if first.count == 4, last.count == 4, last[0] > first[0] {
            row.kilobits = (last[1] - first[1]) * 8 / (last[0] - first[0])
            let frames = (last[2] - first[2]) * 1_000 / (last[0] - first[0])
            row.add(note: "\(cell(frames, 1)) frames/s of \(Int(last[3])) px width")
        }
        row.proportionalMegabytes = session.sender.figures.family.reduce(0) { $0 + $1.memory.proportional }
    }
    return row
}

import Foundation

/// Answers the first question of a program in a terminal with yes.
private let yes = """
    import os, pty, sys
    process, terminal = pty.fork()
    if process == 0: os.execvp(sys.argv[1], sys.argv[1:])
    seen, answered = b"", False
    while True:
        try: piece = os.read(terminal, 4096)
        except OSError: break
        if not piece: break
        seen += piece
        if not answered and b"[n]o: " in seen:
            os.write(terminal, b"y\\n")
            answered = True
    """

/// `share host` on one display, paired with `share service` in a window on another.
func measureService(_ scene: Scene, binary: String, seconds: Int) throws -> Measurement {
    let folder = try TemporaryDirectory()
    return try withDisplays(start: { try scene.start(on: $0, seconds: seconds + 30) }) { from, to in
        let environment = ["XDG_DATA_HOME": folder.path, "DISPLAY": to]
        let service = try Subprocess(
            binary,
            [
                "service", "--id", "com.example.bench", "--accept", "any", "--listen", "127.0.0.1:0", "--json",
            ], environment: environment)
        defer { service.interrupt() }
        let link = try service.wait(for: "link").link()
        let install = try Subprocess(binary, ["extension", "install", link], environment: environment)
        guard install.exitStatus == 0 else { throw BenchmarkFailure(install.errorText) }
        let host = try Subprocess(
            "/usr/bin/python3",
            [
                "-c", yes, binary, "host", "--preferred-extension", "com.example.bench", "--display", from, "--audio",
                "none",
            ], environment: environment)
        defer { host.terminate() }
        _ = try service.wait(for: "first-picture")
        // Until still content has been refined, the results are those of the start.
        Thread.sleep(forTimeInterval: 3)
        return Measurement("share service", scene, try Probe.run(to, seconds: seconds))
    }
}

import Foundation
import TestSupport
import Testing

/// The oldest libssl3 that is taken, and a libnice that is missing.
@Suite(.timeLimit(.minutes(2)))
struct LibraryVersionTests {
    private static let required = "3.0.22-1~deb12u2"
    private static let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .appendingPathComponent("../..").standardized.path

    /// A Debian in which everything is installed, with this libssl3, and `apt-get` installs the other one.
    private func setup(installed: String, available: String) throws -> (code: Int32?, errors: String, calls: String) {
        let folder = try TemporaryFolder()
        let (version, calls) = (folder.file("version"), folder.file("calls"))
        try installed.write(toFile: version, atomically: true, encoding: .utf8)
        try "".write(toFile: calls, atomically: true, encoding: .utf8)
        let programs = [
            "dpkg-query": "case \"$2\" in *Version*) cat \(version) ;; *) printf 'install ok installed' ;; esac",
            "apt-get": "echo \"$@\" >>\(calls); case \"$*\" in *install*) printf %s '\(available)' >\(version) ;; esac",
            "sudo": "exec \"$@\"", "swift": "exit 0",
        ]
        for (name, text) in programs {
            try "#!/bin/sh\n\(text)\n".write(toFile: folder.file(name), atomically: true, encoding: .utf8)
            try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: folder.file(name))
        }
        let path = ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin:/bin"
        let setup = try Program(
            Self.root + "/Scripts/setup", ["-y", "run"], environment: ["PATH": folder.path + ":" + path])
        let code = setup.exitCode(seconds: 30)
        return (code, setup.text.errors, try String(contentsOfFile: calls, encoding: .utf8))
    }

    @Test func setupUpgradesAnOldOne() throws {
        for old in ["3.0.19-1~deb12u1", "3.0.22-1~deb12u1"] {
            let (code, errors, calls) = try setup(installed: old, available: Self.required)
            #expect(code == 0, "\(errors)")
            #expect(errors.contains(old) && calls.contains("install") && calls.contains("libssl3"), "\(calls)")
        }
    }

    @Test func setupLeavesANewOne() throws {
        for new in [Self.required, "3.0.24-1~deb12u1"] {
            let (code, errors, calls) = try setup(installed: new, available: new)
            #expect(code == 0 && calls.isEmpty, "\(errors) \(calls)")
        }
    }

    @Test func setupFailsWhereThereIsNone() throws {
        let (code, errors, _) = try setup(installed: "3.0.19-1~deb12u1", available: "3.0.20-1~deb12u2")
        #expect(
            code == 1 && errors.contains("still 3.0.20-1~deb12u2") && errors.contains("debian-security"), "\(errors)")
    }

    @Test func allNameTheSameVersion() throws {
        for file in [
            "Scripts/setup", "Scripts/relay/Containerfile", "SECURITY.md", "Sources/share/Doctor/DoctorCommand.swift",
        ] {
            let text = try String(contentsOfFile: Self.root + "/" + file, encoding: .utf8)
            #expect(text.contains(Self.required), "\(file)")
        }
        let container = try String(contentsOfFile: Self.root + "/Scripts/relay/Containerfile", encoding: .utf8)
        #expect(container.contains("dpkg --compare-versions \"$(dpkg-query -W -f='${Version}' libssl3)\" ge"))
    }

    @Test func doctorSaysWhichOneIsLoaded() throws {
        let doctor = try ShareProcess(["doctor"])
        #expect(doctor.exitCode(seconds: 60) != nil)
        let line = doctor.lines.first { $0.contains(" encryption ") }
        #expect(line?.contains("OpenSSL 3.") == true, "\(doctor.lines)")
    }

    /// No program is linked with libnice, so that each starts without it, in a mount namespace that has none.
    @Test func withoutLibniceEachSaysSo() throws {
        let found = try Program("ldconfig", ["-p"]).finish().split(separator: "\n").first {
            $0.contains("libnice.so.10")
        }
        let library = try #require(found?.split(separator: " ").last)
        let launcher = ["unshare", "-rm", "sh", "-c", "mount --bind /dev/null '\(library)' && exec \"$@\"", "sh"]
        let doctor = try ShareProcess(["doctor"], launcher: launcher)
        #expect(doctor.exitCode(seconds: 60) != 0)
        let line = doctor.lines.first { $0.contains(" connections ") }
        #expect(line?.hasPrefix("missing") == true && line?.contains("libnice") == true, "\(doctor.lines)")
        let host = try HostedScreen(["--source", "test", "--audio", "none"])
        let start = ["--listen", "127.0.0.1:0", "--accept", "any"]
        for (arguments, environment) in [
            (["join", "--headless"], ["SHARE_LINK": host.link]),
            (["host", "--source", "test", "--audio", "none"] + start, [:]), (["relay"] + start, [:]),
        ] {
            let process = try ShareProcess(arguments, environment: environment, launcher: launcher)
            let code = try #require(process.exitCode(), "\(arguments)")
            #expect([69, 70].contains(code), "\(arguments)")
            #expect(process.errorText.contains("libnice cannot be loaded: "), "\(process.errorText)")
        }
    }
}

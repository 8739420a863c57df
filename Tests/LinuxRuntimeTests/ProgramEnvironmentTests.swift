import LinuxRuntime
import Testing

/// The variables that programs of others are started with.
struct ProgramEnvironmentTests {
    @Test(arguments: [
        "SHARE_TOKEN", "SHARE_TURN_CREDENTIAL", "SHARE_LINK", "SHARE_FIELD_KEY", "NOTIFY_SOCKET", "LISTEN_FDS",
        "AWS_SECRET_ACCESS_KEY", "SSH_AUTH_SOCK", "LD_PRELOAD", "", "path", "XPATH",
    ])
    func secretsStayHere(_ name: String) {
        #expect(!ProgramEnvironment.passes(name))
        #expect(ProgramEnvironment.selected(of: [name: "value"]).isEmpty)
    }

    @Test(arguments: ["PATH", "HOME", "LANG", "LC_TIME", "DISPLAY", "XDG_RUNTIME_DIR", "PULSE_SERVER", "https_proxy"])
    func whatAProgramNeedsIsPassedOn(_ name: String) {
        #expect(ProgramEnvironment.selected(of: [name: "value"]) == [name: "value"])
    }

    @Test func theTextsAreThoseOfThisProcess() {
        #expect(ProgramEnvironment.texts.contains { $0.hasPrefix("PATH=") })
        #expect(ProgramEnvironment.texts.allSatisfy { $0.contains("=") && !$0.hasPrefix("SHARE_") })
    }
}

import ArgumentParser
import CommandSupport
import ProcessMemory
import RelayVerb

@main
struct Share: ParsableCommand {
    static func main() {
        StandardStreams.prepare()
        RelayExecutable.replaceThisProgram()
        ProcessMemory.limitFragmentation()
        ProcessMemory.forbidDumps()
        main(HelpScope.current.arguments)
    }

    static let configuration = CommandConfiguration(
        commandName: "share",
        abstract: "Show a screen to other people, from this machine, with nothing but a link.",
        discussion: """
            share host     publishes this screen and prints a link
            share sources  lists monitors, windows and sounds that can be shared
            share join     watches one; the same link opens in any browser
            share record   saves one to a file (share recordings shows and repairs files)
            share service  takes broadcasts in; hosts pair with it (share extension, pair)
            share relay    takes broadcasts in, and serves them to viewers
            share status   shows the host of this machine; stop, pause, resume, blank,
                           unblank, freeze, unfreeze, mute, unmute, viewers and
                           remove control it

            stdout has data for programs, stderr has messages. Exit codes:
              0  success                   1  doctor found a problem
             64  wrong arguments          70  internal error
             65  the link is wrong        73  a file cannot be written
             66  no display               74  the connection was lost
             68  host unreachable         75  nobody answered
             69  port unavailable         76  not the host that the link names
             67  unknown service          77  refused
             71  the service is busy      78  you declined
             72  no broadcast runs        79  the screen is broadcast already
            """,
        version: ProgramVersion.text,
        subcommands: [
            HostCommand.self, JoinCommand.self, OpenCommand.self, RecordCommand.self, ClipCommand.self,
            RecordingsCommand.self,
            RelayCommand.self, ListCommand.self, SourcesCommand.self,
            DoctorCommand.self, KnownCommand.self, ServiceCommand.self, ExtensionCommand.self, ServicesCommand.self,
            PairCommand.self, StatusCommand.self,
            StopCommand.self, PauseCommand.self, ResumeCommand.self, BlankCommand.self, UnblankCommand.self,
            FreezeCommand.self, UnfreezeCommand.self, MuteCommand.self,
            UnmuteCommand.self, CameraCommand.self, ViewersCommand.self, RemoveCommand.self, GrantCommand.self,
            RevokeCommand.self, SayCommand.self,
            UploadProgramsCommand.self, QuestionCommand.self, ControllerCommand.self,
        ])
}

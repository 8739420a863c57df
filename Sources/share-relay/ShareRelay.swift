import ArgumentParser
import CommandSupport
import ProcessMemory
import RelayVerb

/// `share relay` as a program of its own, which links no library for capture, codecs, sound or windows.
@main
enum ShareRelay {
    static func main() {
        StandardStreams.prepare()
        ProcessMemory.limitFragmentation(arenas: 3)
        ProcessMemory.forbidDumps()
        RelayCommand.main(HelpScope.current.arguments)
    }
}

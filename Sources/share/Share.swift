import ArgumentParser

@main struct Share: ParsableCommand { func run() throws {} }

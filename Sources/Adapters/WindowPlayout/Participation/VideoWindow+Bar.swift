import CSDL
import LinuxRuntime
import MediaCore
import Synchronization

/// The bar at the lower edge, and what the overlay says of the user's part.
extension VideoWindow {
    /// Has the overlay show what the window's state is.
    func updateOverlay(_ now: MediaInstant) {
        view.bar.expire(now)
        let isBarShown = view.bar.end != nil && interaction.mode != .controlling && !isDismissible
        overlay.bar = isBarShown ? barButtons : []
        overlay.line = interaction.line?.shown
        overlay.notice = interaction.notice?.text
        overlay.rights = interaction.rights
        overlay.controlHint = interaction.mode == .controlling ? view.controlHint : nil
    }

    private var barButtons: [BarButton] {
        var buttons: [BarButton] = []
        if overlay.hasAudio {
            buttons.append(BarButton(choice: .mute, label: "Mute (M)", isOn: overlay.isMute))
        }
        buttons += [
            BarButton(choice: .pictureSize, label: "1:1 (1)", isOn: view.picture.isOneToOne),
            BarButton(choice: .statistics, label: "Statistics (S)", isOn: view.showsStatistics),
            BarButton(choice: .fullscreen, label: "Full screen (F)", isOn: geometry.isFullscreen),
        ]
        let rights = interaction.rights
        if rights.point != .no {
            buttons.append(
                BarButton(choice: .right(.point), label: "Point (P)", isOn: interaction.mode == .pointing))
        }
        if rights.comment != .no {
            buttons.append(
                BarButton(choice: .right(.comment), label: "Comment (C)", isOn: interaction.line != nil))
        }
        if rights.control != .no { buttons.append(BarButton(choice: .right(.control), label: "Control (R)")) }
        if rights.control == .yes {
            buttons.append(BarButton(choice: .giveControlBack, label: "Give control back (G)"))
        }
        return buttons + [BarButton(choice: .help, label: "Help (?)", isOn: overlay.hasHelp)]
    }

    /// The button at a pixel of the window; nil if there is none.
    func barButton(x: Int, y: Int) -> BarButton.Choice? { overlay.bar.isEmpty ? nil : presenter.barButton(x: x, y: y) }

    func choose(_ choice: BarButton.Choice) {
        switch choice {
        case .mute:
            guard overlay.hasAudio else { return }
            overlay.isMute.toggle()
            callbacks.onMute(overlay.isMute)
        case .pictureSize: switchPictureSize()
        case .statistics:
            view.showsStatistics.toggle()
            // The statistics from before are out of date.
            commands.withLock { $0.statistics = view.showsStatistics ? "..." : nil }
            overlay.statistics = view.showsStatistics ? "..." : nil
            callbacks.onStatistics(view.showsStatistics)
        case .fullscreen: geometry.toggleFullscreen(window)
        case .help: overlay.hasHelp.toggle()
        case .right(let right): changeInteraction { $0.toggle(right, now: MonotonicClock.now) }
        case .giveControlBack: changeInteraction { $0.giveControlBack() }
        }
    }

    /// Changes what the user does, and has SDL follow: which keys are read, and how the mouse's pointer looks.
    func changeInteraction(_ body: (inout Interaction) -> Void) {
        let (mode, hadLine) = (interaction.mode, interaction.line != nil)
        body(&interaction)
        let hasLine = interaction.line != nil
        if hasLine != hadLine { if hasLine { SDL_StartTextInput() } else { SDL_StopTextInput() } }
        guard interaction.mode != mode else { return }
        if interaction.mode == .controlling {
            view.bar.hide()
            // A host whose whole screen is shared has its own line at the upper edge.
            view.controlHint = .bottom
            keyReader.start()
        } else {
            keyReader.stop()
        }
        setCursor(interaction.mode == .pointing ? SDL_SYSTEM_CURSOR_CROSSHAIR : SDL_SYSTEM_CURSOR_ARROW)
    }

    private func setCursor(_ shape: SDL_SystemCursor) {
        guard let cursor = SDL_CreateSystemCursor(shape) else { return }
        SDL_SetCursor(cursor)
        if let old = view.cursor { SDL_FreeCursor(old) }
        view.cursor = cursor
    }
}

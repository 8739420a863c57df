import BrowserControl
import Testing

/// The state that the page under a link shows.
struct PageState: Hashable, Sendable, CustomStringConvertible {
    let state: String
    let sentence: String
    let hint: String
    var description: String { "\(state): \(sentence) \(hint)" }
}

extension Browser {
    /// Waits until the page is in one of these states.
    /// - Throws: ``Failure`` with the page's content when the time is over.
    @discardableResult
    func waitForState(_ states: String..., within limit: Duration = .seconds(30)) async throws -> PageState {
        let list = JSON.array(states.map { .string($0) }).text
        let milliseconds = limit.components.seconds * 1_000
        let found = try await evaluate(
            """
            new Promise(done => {
                const root = document.documentElement;
                const look = isLate => {
                    const isThere = \(list).includes(root.dataset.state);
                    if (!isThere && !isLate) return;
                    watcher.disconnect();
                    clearInterval(timer);
                    done({
                        isThere, state: root.dataset.state || "none",
                        sentence: document.getElementById("status")?.textContent || "",
                        hint: document.getElementById("hint")?.textContent || "",
                    });
                };
                const watcher = new MutationObserver(() => look(false));
                \(Self.patience(milliseconds: milliseconds))
                const timer = setInterval(() => { if (isOver()) look(true); }, 50);
                watcher.observe(root, { attributes: true });
                look(false);
            })
            """, within: limit + .seconds(30))
        let page = PageState(
            state: found["state"].string ?? "", sentence: found["sentence"].string ?? "",
            hint: found["hint"].string ?? "")
        guard found["isThere"] == true else { throw Failure(description: "expected \(list), the page shows \(page)") }
        return page
    }

    /// Waits until an expression has this value, for 20 s at most.
    /// - Returns: whether it has come to.
    func has(_ value: JSON, _ expression: String) async throws -> Bool {
        let deadline = ContinuousClock.now + .seconds(20)
        while true {
            if try await evaluate(expression) == value { return true }
            guard ContinuousClock.now < deadline else { return false }
            try await Task.sleep(for: .milliseconds(50))
        }
    }

    /// Returns lines that declare `isOver()`, which is called every 50 ms and returns true when the time is over. A
    /// suspension of the machine uses up at most one step of the time.
    static func patience(milliseconds: Int64) -> String {
        """
        let left = \(milliseconds), last = performance.now();
        const isOver = () => {
            const now = performance.now();
            left -= Math.min(now - last, 250);
            last = now;
            return left <= 0;
        };
        """
    }

    /// Opens a link and asks to watch, as a user does. Returns when the page has knocked, or has continued without.
    func watch(_ link: String) async throws {
        try await open(link)
        if try await evaluate("document.documentElement.dataset.state") == "asking" { try await click("watch") }
    }

    /// Clicks as a user would, so that it counts as a gesture.
    func click(_ id: String) async throws {
        _ = try await evaluate("document.getElementById('\(id)').click()")
    }
}

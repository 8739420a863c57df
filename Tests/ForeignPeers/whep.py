"""What the players in Python share: their options and WHEP's requests. See README.md."""

import argparse
import os
import ssl
import urllib.error
import urllib.parse
import urllib.request


def options():
    """A parser with the options of every player."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--url", required=True)
    parser.add_argument("--token", required=True)
    parser.add_argument("--folder", required=True)
    parser.add_argument("--media", default="video,audio")
    parser.add_argument("--seconds", type=float, default=4)
    parser.add_argument("--skip", type=float, default=0)
    parser.add_argument("--no-rtx", action="store_true")
    parser.add_argument("--trickle", action="store_true")
    return parser


class HTTP:
    """The host's certificate is its own, and a player with the token has nothing to check it against, unless SHARE_TEST_AUTHORITY names one."""

    def __init__(self, url, token):
        self.url, self.token = url, token
        authority = os.environ.get("SHARE_TEST_AUTHORITY")
        context = ssl.create_default_context(cafile=authority)
        if not authority:
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        self.opener = urllib.request.build_opener(urllib.request.HTTPSHandler(context=context))

    def ask(self, method, url, body=None, **headers):
        """Status, headers and body of the answer; an underscore in a header's name stands for a hyphen."""
        headers["Authorization"] = f"Bearer {self.token}"
        request = urllib.request.Request(
            urllib.parse.urljoin(self.url, url), data=body.encode() if body else None, method=method,
            headers={key.replace("_", "-"): value for key, value in headers.items()})
        try:
            with self.opener.open(request, timeout=10) as answer:
                return answer.status, answer.headers, answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.headers, error.read().decode()

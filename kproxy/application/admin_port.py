"""The HTTP server of the admin port, with all that it shows. Imported by `late_admin`, once the proxy is at work."""

import socket

from kproxy.admin.changes.log_level import LogLevelChange
from kproxy.admin.entrance.access import AccessRules
from kproxy.admin.inspection import Inspection
from kproxy.admin.operators.routes import OperatorRoutes
from kproxy.admin.scraping.group_series import GroupSeries
from kproxy.admin.server import AdminServer
from kproxy.admin.views import item
from kproxy.application.admin_parts import AdminParts
from kproxy.application.process_views import ProcessViews
from kproxy.settings import HostPort


def admin_server(listener: HostPort, parts: AdminParts, views: ProcessViews) -> AdminServer:
    """Build the server; it does not listen yet."""
    series = GroupSeries(
        parts.share_groups.directory,
        parts.share_groups.counters,
        parts.topic_name,
        coordinator=parts.share_groups.coordinator,
        metrics=parts.metrics,
    )
    series.register()
    # The machine's own name leads here wherever others than this machine reach the port.
    own_names = () if listener.is_loopback else (socket.gethostname(),)
    rules = AccessRules(
        listener, parts.settings.admin_allowed_hosts, has_token=parts.token is not None, own_names=own_names
    )
    server = AdminServer(
        listener,
        metrics=parts.metrics,
        readiness=parts.vitals.readiness(),
        status=lambda: item(parts.vitals.status()),
        inspection=Inspection(
            views.local,
            views.answers,
            own_events=views.own_events,
            peer_events=views.peer_events,
            actions=OperatorRoutes(
                views.operators, is_guarded=listener.is_loopback or parts.token is not None
            ),
        ),
        access=rules,
        token=parts.token,
    )
    server.add_routes(LogLevelChange(parts.settings.log_level.value, parts.wall_clock.now_ms).routes())
    server.scrape.looks.append(series.freshen)
    return server

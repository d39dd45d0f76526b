/** The panels of deploy/grafana/watches.json. */

import { of, quantile, rate, type Row } from './panels.ts'

export const watchRows: readonly Row[] = [
  {
    title: 'Watches',
    panels: [
      {
        title: 'Open',
        kind: 'stat',
        unit: 'none',
        description: 'Open watches.',
        queries: [['', `sum(watchglass_watches{${of}})`]],
      },
      {
        title: 'Behind',
        kind: 'stat',
        unit: 'none',
        description:
          'Watches whose clients read slowly. They cost no memory; the page of the admin listener names the clients.',
        queries: [['', `sum(watchglass_watches_lagging{${of}})`]],
      },
      {
        title: 'Lost their place',
        kind: 'stat',
        unit: 'none',
        description: 'Watches that fell out of the history in the last hour, and got 410.',
        queries: [
          ['', `sum(increase(watchglass_watches_ended_total{${of},reason="expired"}[1h]))`],
        ],
      },
      {
        title: 'Open by resource',
        kind: 'graph',
        unit: 'none',
        description: 'Of the ten with the most.',
        queries: [
          ['{{keyspace}}', `topk(10, sum by (keyspace) (watchglass_keyspace_watches{${of}}))`],
        ],
      },
      {
        title: 'Begun',
        kind: 'graph',
        unit: 'reqps',
        description: 'Many at once: clients were restarted, or lost their place.',
        queries: [['{{code}}', rate('watchglass_requests_total', 'code', ',verb="watch"')]],
      },
      {
        title: 'Ended, by reason',
        kind: 'graph',
        unit: 'reqps',
        description:
          'timeout and client are normal. expired: the client was too slow. inexact: an event passes to the upstream.',
        queries: [['{{reason}}', rate('watchglass_watches_ended_total', 'reason')]],
      },
    ],
  },
  {
    title: 'Events',
    panels: [
      {
        title: 'Events of etcd',
        kind: 'graph',
        unit: 'reqps',
        description: 'What comes in.',
        queries: [['{{of}}', rate('watchglass_mirror_events_total', 'of')]],
      },
      {
        title: 'Events sent',
        kind: 'graph',
        unit: 'reqps',
        description: 'What goes out, to all watches together.',
        queries: [['{{instance}}', rate('watchglass_watch_sent_events_total', 'instance')]],
      },
      {
        title: 'Bytes sent',
        kind: 'graph',
        unit: 'Bps',
        description: 'Of these events, before compression and encryption.',
        queries: [['{{instance}}', rate('watchglass_watch_sent_bytes_total', 'instance')]],
      },
      {
        title: 'Until the initial events are sent',
        kind: 'graph',
        unit: 's',
        description: 'How long a watch takes to begin.',
        queries: [
          ['p50', quantile('0.5', 'watchglass_request_duration_seconds', ',verb="watch"')],
          ['p99', quantile('0.99', 'watchglass_request_duration_seconds', ',verb="watch"')],
        ],
      },
      {
        title: 'Lag',
        kind: 'graph',
        unit: 's',
        description: 'How long a resource has been behind etcd; 0 if it is up to date.',
        queries: [
          ['{{keyspace}}', `topk(5, max by (keyspace) (watchglass_keyspace_lag_seconds{${of}}))`],
        ],
      },
      {
        title: 'Encoded events that are kept',
        kind: 'graph',
        unit: 'bytes',
        description: 'Each is encoded once for all watches of a kind.',
        queries: [['{{instance}}', `watchglass_watch_frame_bytes{${of}}`]],
      },
    ],
  },
]

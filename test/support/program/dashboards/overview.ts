/** The panels of deploy/grafana/overview.json. */

import { of, quantile, rate, reads, type Row } from './panels.ts'

const state: Row = {
  title: 'State',
  panels: [
    {
      title: 'Ready',
      kind: 'stat',
      unit: 'none',
      description: 'Replicas whose /readyz answers ok.',
      queries: [['', `sum(watchglass_ready{${of}})`]],
    },
    {
      title: 'Resources not ready',
      kind: 'stat',
      unit: 'none',
      description: 'Mirrored resources in another state than ready. Should be 0.',
      queries: [['', `sum(watchglass_keyspace_state{${of},state!="ready"})`]],
    },
    {
      title: 'Reads answered here',
      kind: 'stat',
      unit: 'percentunit',
      description: 'The share of gets, lists and watches that the mirror answers.',
      queries: [
        [
          '',
          `sum(rate(watchglass_requests_total{${of},source="mirror"${reads}}[$__rate_interval])) / sum(rate(watchglass_requests_total{${of}${reads}}[$__rate_interval]))`,
        ],
      ],
    },
    {
      title: 'Events out of order',
      kind: 'stat',
      unit: 'none',
      description: 'What etcd should never send, in the last day. Should be 0.',
      queries: [['', `sum(increase(watchglass_mirror_violations_total{${of}}[1d]))`]],
    },
    {
      title: 'Closed forms',
      kind: 'stat',
      unit: 'none',
      description: 'Forms that the upstream writes differently, and that pass for this reason.',
      queries: [['', `sum(watchglass_evidence_forms{${of},state="closed"})`]],
    },
    {
      title: 'First certificate ends in',
      kind: 'stat',
      unit: 's',
      description: 'Files are read again when they change.',
      queries: [['', `min(watchglass_certificate_expiry_timestamp_seconds{${of}}) - time()`]],
    },
  ],
}

const requests: Row = {
  title: 'Requests',
  panels: [
    {
      title: 'Requests by who answered',
      kind: 'graph',
      unit: 'reqps',
      description: 'mirror: from memory. upstream: passed. etcd: from before the history.',
      queries: [['{{source}}', rate('watchglass_requests_total', 'source')]],
    },
    {
      title: 'Latency',
      kind: 'graph',
      unit: 's',
      description:
        'Time to the end of the answer. A watch counts until its initial events are sent.',
      queries: [
        ['{{verb}} p50', quantile('0.5', 'watchglass_request_duration_seconds', reads, 'verb')],
        ['{{verb}} p99', quantile('0.99', 'watchglass_request_duration_seconds', reads, 'verb')],
      ],
    },
    {
      title: 'Status codes',
      kind: 'graph',
      unit: 'reqps',
      description:
        '499: the client left. 429: a limit. 504: the mirror was not as new as required.',
      queries: [['{{code}}', rate('watchglass_requests_total', 'code')]],
    },
    {
      title: 'Passed, by reason',
      kind: 'graph',
      unit: 'reqps',
      description: 'docs/PROXY.md explains the reasons.',
      queries: [['{{reason}}', rate('watchglass_passed_requests_total', 'reason')]],
    },
    {
      title: 'Refused by limits',
      kind: 'graph',
      unit: 'reqps',
      description: 'Requests that got 429.',
      queries: [['{{kind}}, {{bound}}', rate('watchglass_limited_requests_total', 'kind, bound')]],
    },
    {
      title: 'In flight',
      kind: 'graph',
      unit: 'none',
      description: 'Requests that have not ended, with open watches.',
      queries: [
        ['all', `sum(watchglass_requests_in_flight{${of}})`],
        ['passed, {{kind}}', `sum by (kind) (watchglass_passed_requests_in_flight{${of}})`],
        ['wait for the mirror', `sum(watchglass_mirror_waiting_reads{${of}})`],
      ],
    },
  ],
}

const freshness: Row = {
  title: 'Freshness',
  panels: [
    {
      title: 'Reads by freshness',
      kind: 'graph',
      unit: 'reqps',
      description: 'What clients ask for, and what they get.',
      queries: [
        ['{{freshness}}, {{result}}', rate('watchglass_mirror_reads_total', 'freshness, result')],
      ],
    },
    {
      title: 'Consistent reads wait',
      kind: 'graph',
      unit: 's',
      description:
        'For etcd to say its revision, and for the mirror to reach it. Refused after 3 s.',
      queries: [
        ['p50', quantile('0.5', 'watchglass_mirror_read_wait_seconds', ',freshness="consistent"')],
        ['p99', quantile('0.99', 'watchglass_mirror_read_wait_seconds', ',freshness="consistent"')],
        ['etcd p99', quantile('0.99', 'watchglass_mirror_probe_duration_seconds')],
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
      title: 'Events of etcd',
      kind: 'graph',
      unit: 'reqps',
      description: 'none: of resources that are not mirrored.',
      queries: [['{{of}}', rate('watchglass_mirror_events_total', 'of')]],
    },
    {
      title: 'Streams opened again',
      kind: 'graph',
      unit: 'none',
      description: 'Watch streams of etcd that ended, and ranges that were read as a whole.',
      queries: [
        [
          'stream: {{reason}}',
          `sum by (reason) (increase(watchglass_mirror_reconnects_total{${of}}[$__rate_interval]))`,
        ],
        [
          'read: {{reason}}',
          `sum by (reason) (increase(watchglass_mirror_bootstraps_total{${of}}[$__rate_interval]))`,
        ],
      ],
    },
    {
      title: 'Revision',
      kind: 'graph',
      unit: 'none',
      description: 'The newest revision of each replica.',
      queries: [['{{instance}}', `max by (instance) (watchglass_keyspace_revision{${of}})`]],
    },
  ],
}

const memory: Row = {
  title: 'Memory and processor',
  panels: [
    {
      title: 'Memory against its budget',
      kind: 'graph',
      unit: 'bytes',
      description: 'History and segments are given up first.',
      queries: [
        ['objects', `sum(watchglass_memory_mirror_bytes{${of}})`],
        ['history', `sum(watchglass_memory_history_bytes{${of}})`],
        ['segments', `sum(watchglass_memory_segment_bytes{${of}})`],
        ['budget', `sum(watchglass_memory_budget_bytes{${of}})`],
      ],
    },
    {
      title: 'Memory of the process',
      kind: 'graph',
      unit: 'bytes',
      description: 'The heap is a part of it; values of objects lie outside of the heap.',
      queries: [
        ['resident', `sum(process_resident_memory_bytes{${of}})`],
        ['heap', `sum(nodejs_heap_size_used_bytes{${of}})`],
      ],
    },
    {
      title: 'Objects',
      kind: 'bars',
      unit: 'none',
      description: 'Of the ten largest resources.',
      queries: [
        ['{{keyspace}}', `topk(10, max by (keyspace) (watchglass_keyspace_entries{${of}}))`],
      ],
    },
    {
      title: 'Processor',
      kind: 'graph',
      unit: 'percentunit',
      description: '1 is one processor.',
      queries: [['{{instance}}', rate('process_cpu_seconds_total', 'instance')]],
    },
    {
      title: 'Event loop held',
      kind: 'graph',
      unit: 's',
      description: 'How late the event loop is. Above 10 ms, events and small reads are late.',
      queries: [['p99 {{instance}}', `nodejs_eventloop_lag_p99_seconds{${of}}`]],
    },
    {
      title: 'Garbage collection',
      kind: 'graph',
      unit: 'percentunit',
      description: 'The share of time that collections take.',
      queries: [['{{kind}}', rate('nodejs_gc_duration_seconds_sum', 'kind')]],
    },
  ],
}

const upstream: Row = {
  title: 'Upstream',
  panels: [
    {
      title: 'Healthy',
      kind: 'stat',
      unit: 'none',
      description: 'Replicas for which a server of the upstream answers.',
      queries: [['', `sum(watchglass_upstream_up{${of}})`]],
    },
    {
      title: 'Pass-through',
      kind: 'stat',
      unit: 'none',
      description: 'Replicas that somebody has switched to pass all reads.',
      queries: [['', `sum(watchglass_pass_through{${of}})`]],
    },
    {
      title: 'Resources by proof',
      kind: 'graph',
      unit: 'none',
      description: 'Only proven ones are answered here.',
      queries: [['{{proof}}', `sum by (proof) (watchglass_upstream_keyspaces{${of}})`]],
    },
    {
      title: 'Forms by evidence',
      kind: 'graph',
      unit: 'none',
      description: 'A closed form differs from the upstream, and passes.',
      queries: [['{{state}}', `sum by (state) (watchglass_evidence_forms{${of}})`]],
    },
    {
      title: 'Comparisons',
      kind: 'graph',
      unit: 'reqps',
      description: 'What the evidence costs the upstream, and reads compared with --compare.',
      queries: [
        ['evidence, {{outcome}}', rate('watchglass_evidence_comparisons_total', 'outcome')],
        ['--compare, {{outcome}}', rate('watchglass_compared_reads_total', 'outcome')],
      ],
    },
    {
      title: 'Bytes compared',
      kind: 'graph',
      unit: 'Bps',
      description: 'At most 3 MB a second are asked of the upstream.',
      queries: [['{{instance}}', rate('watchglass_evidence_bytes_total', 'instance')]],
    },
  ],
}

export const overviewRows: readonly Row[] = [state, requests, freshness, memory, upstream]

/** The metrics that we show under the names of kube-apiserver, with its labels and buckets, for
 *  tools and dashboards that ask for them. The names are those of Kubernetes 1.36, and two older
 *  ones that tools still read: `apiserver_registered_watchers` and `etcd_object_counts`. */

import { assert } from '@watchglass/base'

/** One metric. */
export interface Family {
  readonly type: 'counter' | 'gauge' | 'histogram'
  readonly help: string
  readonly labels: readonly string[]
  /** The upper bounds of a histogram. */
  readonly bounds?: readonly number[]
}

const request = ['verb', 'group', 'version', 'resource', 'subresource', 'scope', 'component']
const version = ['group', 'version', 'resource']
const group = ['group', 'resource']

const seconds = [
  0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1, 1.25, 1.5, 2, 3, 4, 5, 6, 8, 10, 15, 20, 30, 45,
  60,
]

/** Every metric by its name. */
export const families: ReadonlyMap<string, Family> = new Map(
  Object.entries<Family>({
    apiserver_request_total: {
      type: 'counter',
      help: 'Requests that have ended, by what they asked for and status code.',
      labels: [
        'verb',
        'dry_run',
        'group',
        'version',
        'resource',
        'subresource',
        'scope',
        'component',
        'code',
      ],
    },
    apiserver_request_duration_seconds: {
      type: 'histogram',
      help: 'Time from a request to the end of its answer, in seconds; of a watch, to its end.',
      labels: [
        'verb',
        'dry_run',
        'group',
        'version',
        'resource',
        'subresource',
        'scope',
        'component',
      ],
      bounds: seconds,
    },
    apiserver_request_sli_duration_seconds: {
      type: 'histogram',
      help: 'Time from a request to the end of its answer, in seconds, without dry runs, watches and connections. There are no webhooks and queues here whose time would be left out.',
      labels: request,
      bounds: seconds.slice(2),
    },
    apiserver_response_sizes: {
      type: 'histogram',
      help: 'Bytes of the bodies of answers to gets, lists and watches, as they were sent.',
      labels: request,
      bounds: [1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9],
    },
    apiserver_longrunning_requests: {
      type: 'gauge',
      help: 'Open watches, by what they asked for.',
      labels: request,
    },
    apiserver_current_inflight_requests: {
      type: 'gauge',
      help: 'The most requests that were under way at once in the last second, without watches, by kind (readOnly, mutating).',
      labels: ['request_kind'],
    },
    apiserver_registered_watchers: {
      type: 'gauge',
      help: 'Open watches, by the kind of the objects.',
      labels: ['group', 'version', 'kind'],
    },
    apiserver_watch_events_total: {
      type: 'counter',
      help: 'Events that watches were sent, with initial events and bookmarks.',
      labels: version,
    },
    apiserver_watch_events_sizes: {
      type: 'histogram',
      help: 'Bytes of events that watches were sent. Initial events are written many at once, and count with their mean.',
      labels: version,
      bounds: [1024, 2048, 4096, 8192, 16_384, 32_768, 65_536, 131_072],
    },
    apiserver_watch_list_duration_seconds: {
      type: 'histogram',
      help: 'Time from a watch that asks for initial events to the bookmark after them, in seconds.',
      labels: [...version, 'scope'],
      bounds: [0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1, 2, 4, 6, 8, 10, 15, 20, 30, 45, 60],
    },
    apiserver_init_events_total: {
      type: 'counter',
      help: 'Initial events that watches were sent.',
      labels: group,
    },
    apiserver_terminated_watchers_total: {
      type: 'counter',
      help: 'Watches that were ended because their clients read too slowly: their position had left the history.',
      labels: group,
    },
    apiserver_watch_cache_events_received_total: {
      type: 'counter',
      help: 'Changes that etcd has sent.',
      labels: group,
    },
    apiserver_watch_cache_events_dispatched_total: {
      type: 'counter',
      help: 'Changes that were passed on to watches. Those that etcd has sent are at once.',
      labels: group,
    },
    apiserver_watch_cache_initializations_total: {
      type: 'counter',
      help: 'How often the objects of a resource were loaded again.',
      labels: group,
    },
    apiserver_watch_cache_resource_version: {
      type: 'gauge',
      help: 'The revision up to which no change is missing.',
      labels: group,
    },
    apiserver_watch_cache_read_wait_seconds: {
      type: 'histogram',
      help: 'Time that reads waited until the mirror was as new as they require, in seconds.',
      labels: group,
      bounds: [0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1, 1.25, 1.5, 2, 3],
    },
    apiserver_watch_cache_consistent_read_total: {
      type: 'counter',
      help: 'Consistent reads, by whether they succeeded, and whether the mirror left them to others.',
      labels: [...group, 'success', 'fallback'],
    },
    apiserver_resource_objects: {
      type: 'gauge',
      help: 'Stored objects.',
      labels: group,
    },
    apiserver_resource_size_estimate_bytes: {
      type: 'gauge',
      help: 'Bytes that the stored objects of a resource take here.',
      labels: group,
    },
    apiserver_flowcontrol_nominal_limit_seats: {
      type: 'gauge',
      help: "Requests of a priority level that a kube-apiserver with the usual limits would let run at once. Here no request waits for its level's.",
      labels: ['priority_level'],
    },
    apiserver_storage_objects: {
      type: 'gauge',
      help: 'Stored objects, by the name of the resource with its group. apiserver_resource_objects says the same.',
      labels: ['resource'],
    },
    etcd_object_counts: {
      type: 'gauge',
      help: 'Stored objects, by the name of the resource with its group. apiserver_resource_objects says the same.',
      labels: ['resource'],
    },
    etcd_requests_total: {
      type: 'counter',
      help: 'Requests to etcd of reads and writes of the API, by operation (get, list, create, update, delete). A get without a resource asks for the newest revision.',
      labels: ['operation', ...group],
    },
    etcd_request_duration_seconds: {
      type: 'histogram',
      help: 'Time that etcd took to answer reads and writes of the API, in seconds.',
      labels: ['operation', ...group],
      bounds: seconds,
    },
  }),
)

/** A metric that there is. */
export function familyOf(name: string): Family {
  const family = families.get(name)
  assert(family !== undefined, `there is no metric ${name}`)
  return family
}

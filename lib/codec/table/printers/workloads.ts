/** Workloads: replica counts, jobs, their containers and selectors. */

import { zeroTime } from '@watchglass/go'
import {
  type PrintedContainer,
  type PrintedSelector,
  containerFields,
  containerImages,
  containerNames,
  flagText,
  formatSelector,
  humanDuration,
  labelsText,
  lowerCase,
  none,
  selectorFields,
  selectorText,
  since,
} from '../format.ts'
import { type Cell, type Printer, named, printer } from '../printer.ts'

const template = { spec: { containers: [containerFields] } } as const
const selector = { '?': selectorFields } as const

/** The three columns at the end of most workloads. */
function podColumns(containers: readonly PrintedContainer[], selectorCell: string): Cell[] {
  return [containerNames(containers), containerImages(containers), selectorCell]
}

export const replicationControllers: Printer = printer({
  fields: {
    metadata: named,
    spec: {
      replicas: 'integer?',
      selector: 'pairs',
      // Without a selector it takes the labels of its template.
      template: { '?': { ...template, metadata: { labels: 'pairs' } } },
    },
    status: { replicas: 'integer', readyReplicas: 'integer' },
  },
  cells: ({ metadata, spec, status }, now) => [
    metadata.name,
    spec.replicas ?? 0,
    status.replicas,
    status.readyReplicas,
    since(metadata.creationTimestamp, now),
    ...podColumns(
      spec.template?.spec.containers ?? [],
      labelsText(spec.selector.length > 0 ? spec.selector : (spec.template?.metadata.labels ?? [])),
    ),
  ],
})

export const replicaSets: Printer = printer({
  fields: {
    metadata: named,
    spec: { replicas: 'integer?', selector, template },
    status: { replicas: 'integer', readyReplicas: 'integer' },
  },
  cells: ({ metadata, spec, status }, now) => [
    metadata.name,
    spec.replicas ?? 0,
    status.replicas,
    status.readyReplicas,
    since(metadata.creationTimestamp, now),
    ...podColumns(spec.template.spec.containers, formatSelector(spec.selector)),
  ],
})

export const daemonSets: Printer = printer({
  fields: {
    metadata: named,
    spec: {
      selector,
      template: { spec: { containers: [containerFields], nodeSelector: 'pairs' } },
    },
    status: {
      desiredNumberScheduled: 'integer',
      currentNumberScheduled: 'integer',
      numberReady: 'integer',
      updatedNumberScheduled: 'integer',
      numberAvailable: 'integer',
    },
  },
  cells: ({ metadata, spec, status }, now) => [
    metadata.name,
    status.desiredNumberScheduled,
    status.currentNumberScheduled,
    status.numberReady,
    status.updatedNumberScheduled,
    status.numberAvailable,
    labelsText(spec.template.spec.nodeSelector),
    since(metadata.creationTimestamp, now),
    ...podColumns(spec.template.spec.containers, formatSelector(spec.selector)),
  ],
})

export const deployments: Printer = printer({
  fields: {
    metadata: named,
    spec: { replicas: 'integer?', selector, template },
    status: { readyReplicas: 'integer', updatedReplicas: 'integer', availableReplicas: 'integer' },
  },
  cells: ({ metadata, spec, status }, now) => [
    metadata.name,
    `${status.readyReplicas}/${spec.replicas ?? 0}`,
    status.updatedReplicas,
    status.availableReplicas,
    since(metadata.creationTimestamp, now),
    ...podColumns(spec.template.spec.containers, deploymentSelector(spec.selector)),
  ],
})

/** Unlike other kinds, a deployment without a value has an empty cell. */
function deploymentSelector(labelSelector: PrintedSelector | undefined): string {
  return selectorText(labelSelector) ?? '<invalid>'
}

export const statefulSets: Printer = printer({
  fields: {
    metadata: named,
    spec: { replicas: 'integer?', template },
    status: { readyReplicas: 'integer' },
  },
  cells: ({ metadata, spec, status }, now) => [
    metadata.name,
    `${status.readyReplicas}/${spec.replicas ?? 0}`,
    since(metadata.creationTimestamp, now),
    containerNames(spec.template.spec.containers),
    containerImages(spec.template.spec.containers),
  ],
})

export const jobs: Printer = printer({
  fields: {
    metadata: { ...named, deletionTimestamp: 'isSet' },
    spec: { completions: 'integer?', parallelism: 'integer?', selector, template },
    status: {
      succeeded: 'integer',
      startTime: 'time?',
      completionTime: 'time?',
      conditions: [{ type: 'text', status: 'text' }],
    },
  },
  cells({ metadata, spec, status }, now, schema) {
    const jobState = jobStatus(status.conditions, metadata.deletionTimestamp)
    return [
      metadata.name,
      jobState === 'SuccessCriteriaMet' && !schema.has('jobSuccessCriteriaMet')
        ? 'Running'
        : jobState,
      completionsText(status.succeeded, spec.completions, spec.parallelism ?? 0),
      jobDuration(status.startTime, status.completionTime, now),
      since(metadata.creationTimestamp, now),
      ...podColumns(spec.template.spec.containers, formatSelector(spec.selector)),
    ]
  },
})

/** The condition with the highest priority comes first. */
function jobStatus(
  conditions: readonly { readonly type: string; readonly status: string }[],
  isDeleted: boolean,
): string {
  const has = (wanted: string): boolean =>
    conditions.find(({ type }) => type === wanted)?.status === 'True'
  if (has('Complete')) return 'Complete'
  if (has('Failed')) return 'Failed'
  if (isDeleted) return 'Terminating'
  if (has('Suspended')) return 'Suspended'
  if (has('FailureTarget')) return 'FailureTarget'
  return has('SuccessCriteriaMet') ? 'SuccessCriteriaMet' : 'Running'
}

/** A job without parallelism and completions has one completion, as the server fills in. */
function completionsText(
  succeeded: number,
  completions: number | undefined,
  parallelism: number,
): string {
  if (completions !== undefined) return `${succeeded}/${completions}`
  return parallelism > 1 ? `${succeeded}/1 of ${parallelism}` : `${succeeded}/1`
}

function jobDuration(
  start: number | null | undefined,
  end: number | null | undefined,
  now: number,
): string {
  if (start === undefined) return ''
  return humanDuration((end === undefined ? now : (end ?? zeroTime)) - (start ?? zeroTime))
}

export const cronJobs: Printer = printer({
  fields: {
    metadata: named,
    spec: {
      schedule: 'text',
      timeZone: 'text?',
      suspend: 'flag?',
      jobTemplate: { spec: { selector, template } },
    },
    status: { active: 'count', lastScheduleTime: 'time?' },
  },
  cells({ metadata, spec, status }, now) {
    const { selector: jobSelector, template: podTemplate } = spec.jobTemplate.spec
    const last = status.lastScheduleTime
    return [
      metadata.name,
      spec.schedule,
      spec.timeZone ?? none,
      flagText(spec.suspend),
      status.active,
      last === undefined ? none : since(last, now),
      since(metadata.creationTimestamp, now),
      ...podColumns(podTemplate.spec.containers, formatSelector(jobSelector)),
    ]
  },
})

export const controllerRevisions: Printer = printer({
  fields: {
    metadata: {
      ...named,
      ownerReferences: [{ apiVersion: 'text', kind: 'text', name: 'text', controller: 'flag?' }],
    },
    revision: 'long',
  },
  cells({ metadata, revision }, now) {
    const owner = metadata.ownerReferences.find(({ controller }) => controller === true)
    return [
      metadata.name,
      owner === undefined ? none : ownerText(owner),
      revision,
      since(metadata.creationTimestamp, now),
    ]
  },
})

/** `statefulset.apps/db` */
function ownerText(owner: {
  readonly apiVersion: string
  readonly kind: string
  readonly name: string
}): string {
  const slash = owner.apiVersion.indexOf('/')
  const group = slash < 0 ? '' : owner.apiVersion.slice(0, slash)
  if (owner.kind === '' && group === '') return owner.name
  return `${lowerCase(group === '' ? owner.kind : `${owner.kind}.${group}`)}/${owner.name}`
}

export const podTemplates: Printer = printer({
  fields: {
    metadata: named,
    template: { metadata: { labels: 'pairs' }, spec: { containers: [containerFields] } },
  },
  cells: ({ metadata, template: { metadata: podMetadata, spec } }) => [
    metadata.name,
    containerNames(spec.containers),
    containerImages(spec.containers),
    labelsText(podMetadata.labels),
  ],
})

export const podDisruptionBudgets: Printer = printer({
  fields: {
    metadata: named,
    spec: { minAvailable: 'choice?', maxUnavailable: 'choice?' },
    status: { disruptionsAllowed: 'integer' },
  },
  cells: ({ metadata, spec, status }, now) => [
    metadata.name,
    spec.minAvailable ?? 'N/A',
    spec.maxUnavailable ?? 'N/A',
    status.disruptionsAllowed,
    since(metadata.creationTimestamp, now),
  ],
})

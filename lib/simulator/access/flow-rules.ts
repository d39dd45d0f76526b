/** FlowSchemas as kube-apiserver matches requests with them (apiserver's
 *  pkg/util/flowcontrol/rule.go, KEP-1040): by the sender, and by what is asked for. No request
 *  waits or is refused for its flow here: the flow is named in headers only. */

import type { Attributes, Identity, ResourceAttributes } from '@watchglass/kube'

export interface FlowSchemaSpec {
  readonly matchingPrecedence?: number
  readonly priorityLevelConfiguration?: { readonly name?: string }
  readonly rules?: readonly FlowRule[]
}

interface FlowRule {
  readonly subjects?: readonly FlowSubject[]
  readonly resourceRules?: readonly ResourceFlowRule[]
  readonly nonResourceRules?: readonly PathFlowRule[]
}

interface FlowSubject {
  readonly kind?: string
  readonly user?: { readonly name?: string }
  readonly group?: { readonly name?: string }
  readonly serviceAccount?: { readonly namespace?: string; readonly name?: string }
}

interface ResourceFlowRule {
  readonly verbs?: readonly string[]
  readonly apiGroups?: readonly string[]
  readonly resources?: readonly string[]
  readonly namespaces?: readonly string[]
  readonly clusterScope?: boolean
}

interface PathFlowRule {
  readonly verbs?: readonly string[]
  readonly nonResourceURLs?: readonly string[]
}

export function matchesFlow(
  { rules = [] }: FlowSchemaSpec,
  user: Identity,
  attributes: Attributes,
): boolean {
  return rules.some(
    ({ subjects = [], resourceRules = [], nonResourceRules = [] }) =>
      subjects.some(subject => matchesSubject(subject, user)) &&
      ('path' in attributes
        ? nonResourceRules.some(rule => matchesPath(rule, attributes))
        : resourceRules.some(rule => matchesResource(rule, attributes))),
  )
}

const accountPrefix = 'system:serviceaccount:'

function matchesSubject(
  { kind, user, group, serviceAccount }: FlowSubject,
  sender: Identity,
): boolean {
  switch (kind) {
    case 'User':
      return user?.name === '*' || user?.name === sender.user
    case 'Group':
      return group?.name === '*' || sender.groups.some(name => name === group?.name)
    case 'ServiceAccount': {
      if (serviceAccount === undefined) return false
      const { namespace = '', name = '' } = serviceAccount
      const inNamespace = `${accountPrefix}${namespace}:`
      return name === '*'
        ? sender.user.startsWith(inNamespace)
        : sender.user === `${inNamespace}${name}`
    }
    case undefined:
    default:
      return false
  }
}

function matchesResource(
  { verbs, apiGroups, resources, namespaces, clusterScope = false }: ResourceFlowRule,
  { verb, group, resource, subresource, namespace }: ResourceAttributes,
): boolean {
  const asked = subresource === '' ? resource : `${resource}/${subresource}`
  return (
    holds(verbs, verb) &&
    holds(resources, asked) &&
    holds(apiGroups, group) &&
    (namespace === '' ? clusterScope : holds(namespaces, namespace))
  )
}

function matchesPath(
  { verbs, nonResourceURLs = [] }: PathFlowRule,
  asked: Exclude<Attributes, ResourceAttributes>,
): boolean {
  const { verb, path } = asked
  return (
    holds(verbs, verb) &&
    nonResourceURLs.some(url => {
      if (url === '*' || url === path) return true
      const prefix = url.replace(/\*$/, '')
      return path.startsWith(prefix.endsWith('/') ? prefix : `${prefix}/`)
    })
  )
}

function holds(list: readonly string[] = [], text: string): boolean {
  return (list.length === 1 && list[0] === '*') || list.includes(text)
}

/** Requests that last, other than watches, are not classified: kube-apiserver's list of them
 *  (pkg/controlplane/apiserver/config.go, LongRunningFunc). */
export function isClassified(attributes: Attributes): boolean {
  if (attributes.verb === 'watch') return true
  if ('path' in attributes) return !attributes.path.startsWith('/debug/pprof/')
  return attributes.verb !== 'proxy' && !lastingSubresources.has(attributes.subresource)
}

const lastingSubresources: ReadonlySet<string> = new Set([
  'attach',
  'exec',
  'proxy',
  'log',
  'portforward',
])

/** Flow schemas, priority levels and APIServices. */

import { goQuote } from '@watchglass/go'
import { dns1035Label, dnsLabel, dnsSubdomain, pathSegment, portNumber } from '../formats.ts'
import { internalValue } from '../internal-types.ts'
import type { KindRules } from '../kind-rules.ts'
import {
  checkFinalizerDomains,
  checkNewMeta,
  checkObjectMeta,
  checkObjectMetaUpdate,
} from '../object-meta.ts'
import type { Place } from '../place.ts'
import { problemOfFlow, problemOfLevel } from './mandatory-flows.ts'

export const flowControlRules: Readonly<Record<string, KindRules>> = {
  'FlowSchema.flowcontrol.apiserver.k8s.io': {
    create: checkFlow,
    update: object => {
      checkNewMeta(object, false)
      checkFlow(object)
    },
    hasFreeUpdate: true,
    hasFreeStatusMetadata: true,
    subresources: { status: checkTypes },
  },
  'PriorityLevelConfiguration.flowcontrol.apiserver.k8s.io': {
    create: checkLevel,
    update: object => {
      checkNewMeta(object, false)
      checkLevel(object)
    },
    hasFreeUpdate: true,
    hasFreeStatusMetadata: true,
    subresources: { status: checkTypes },
  },
  'APIService.apiregistration.k8s.io': {
    hasOwnMetadata: true,
    create: checkService,
    update: checkService,
    subresources: { status: checkAvailability },
  },
}

/** Whether another server answers. */
function checkAvailability(object: Place, old: Place): void {
  checkObjectMetaUpdate(object.in('metadata'), old.in('metadata'))
  for (const condition of object.in('status', 'conditions').items) {
    condition.in('status').oneOf(['True', 'False', 'Unknown'], 'unsupported')
  }
}

/** The conditions of a status, one of each type. */
function checkTypes(object: Place): void {
  const seen = new Set<string>()
  for (const condition of object.in('status', 'conditions').items) {
    const type = condition.in('type')
    if (seen.has(type.text)) type.duplicate(type.text)
    seen.add(type.text)
    if (type.text === '') type.required()
  }
}

function checkFlow(object: Place): void {
  const spec = object.in('spec')
  const [precedence, method, level] = [
    spec.in('matchingPrecedence'),
    spec.in('distinguisherMethod'),
    spec.in('priorityLevelConfiguration', 'name'),
  ]
  const { number } = precedence
  if (number <= 0) precedence.invalid('must be a positive value', number)
  if (number > 10_000) precedence.invalid('must not be greater than 10000')
  if (number === 1 && object.in('metadata', 'name').text !== 'exempt') {
    precedence.invalid("only the schema named 'exempt' may have matchingPrecedence 1")
  }
  const methods = ['ByNamespace', 'ByUser']
  if (method.isSet && !methods.includes(method.in('type').text)) {
    const shown = new Map([['Type', method.in('type').text]])
    method.in('type').notSupported(methods, shown)
  }
  if (level.text === '') level.required('must reference a priority level')
  else level.mustBe(dnsSubdomain)
  for (const rule of spec.in('rules').items) {
    const subjects = rule.in('subjects')
    if (subjects.size === 0) subjects.required('subjects must contain at least one value')
    for (const subject of subjects.items) checkSubject(subject)
    const [resources, others] = [rule.in('resourceRules'), rule.in('nonResourceRules')]
    if (resources.size === 0 && others.size === 0) {
      rule.required('at least one of resourceRules and nonResourceRules has to be non-empty')
    }
    for (const item of resources.items) checkResourceRule(item)
    for (const item of others.items) checkPathRule(item)
  }
  const problem = problemOfFlow(object.in('metadata', 'name').text, spec)
  if (problem !== undefined) spec.invalid(problem, internalValue('FlowSchemaSpec', spec.value))
}

/** In the order in which upstream reports members that do not belong to the type. */
const subjectMembers = {
  ServiceAccount: ['serviceAccount', 'user', 'group'],
  User: ['user', 'serviceAccount', 'group'],
  Group: ['group', 'serviceAccount', 'user'],
} as const

function checkSubject(subject: Place): void {
  const kind = subject.in('kind')
  if (kind.text !== 'ServiceAccount' && kind.text !== 'User' && kind.text !== 'Group') {
    kind.notSupported(['Group', 'ServiceAccount', 'User'], kind.text)
    return
  }
  const [own, ...others] = subjectMembers[kind.text]
  const member = subject.in(own)
  if (member.isSet) checkMember(member, kind.text === 'ServiceAccount')
  else member.required(`${own} is required when subject kind is '${kind.text}'`)
  for (const name of others) {
    const owner = name.replace(/^./, first => first.toUpperCase())
    if (!subject.in(name).isSet) continue
    subject.in(name).forbidden(`${name} is forbidden when subject kind is not '${owner}'`)
  }
}

function checkMember(member: Place, isAccount: boolean): void {
  const [name, namespace] = [member.in('name'), member.in('namespace')]
  if (name.text === '') name.required()
  else if (isAccount && name.text !== '*') name.mustBe(dnsSubdomain)
  if (!isAccount) return
  if (namespace.text === '') namespace.required('must specify namespace for service account')
  else namespace.mustBe(dnsLabel)
}

const verbs = 'create delete deletecollection get list patch proxy update watch'.split(' ')

function checkVerbs(list: Place): void {
  if (list.size === 0) list.required('verbs must contain at least one value')
  else if (list.texts.includes('*')) checkAlone(list, 'verbs')
  else if (!list.texts.every(verb => verbs.includes(verb))) list.notSupported(verbs)
}

function checkAlone(list: Place, words: string): void {
  if (list.size < 2 || !list.texts.includes('*')) return
  list.invalid(`if '*' is present, must not specify other ${words}`)
}

function checkResourceRule(rule: Place): void {
  checkVerbs(rule.in('verbs'))
  for (const [name, words, one] of [
    ['apiGroups', 'api groups', 'api group'],
    ['resources', 'resources', 'resource'],
  ] as const) {
    const list = rule.in(name)
    if (list.size === 0) list.required(`resource rules must supply at least one ${one}`)
    else checkAlone(list, words)
  }
  const namespaces = rule.in('namespaces')
  if (namespaces.size === 0 && !rule.in('clusterScope').isTrue) {
    namespaces.required(
      'resource rules that are not cluster scoped must supply at least one namespace',
    )
  } else if (namespaces.texts.includes('*')) checkAlone(namespaces, 'namespaces')
  else {
    const words = "each member of this list must be '*' or a DNS-1123 label; "
    for (const namespace of namespaces.items) {
      for (const error of dnsLabel(namespace.text)) namespace.invalid(`${words}${error}`)
    }
  }
}

function checkPathRule(rule: Place): void {
  checkVerbs(rule.in('verbs'))
  const paths = rule.in('nonResourceURLs')
  if (paths.size === 0) paths.required('nonResourceURLs must contain at least one value')
  else if (paths.texts.includes('*')) checkAlone(paths, 'non-resource URLs')
  else {
    for (const path of paths.items) {
      const problem = problemOfPath(path.text)
      if (problem !== undefined) path.invalid(problem)
    }
  }
}

function problemOfPath(path: string): string | undefined {
  if (path === '') return 'must not be empty'
  if (path === '/') return undefined
  if (!path.startsWith('/')) return 'must start with slash'
  if (path.includes(' ')) return 'must not contain white-space'
  if (path.includes('//')) return 'must not contain double slash'
  const isSuffix = path.indexOf('*') === path.length - 1 && path.endsWith('/*')
  return path.includes('*') && !isSuffix ? 'wildcard can only do suffix matching' : undefined
}

function checkLevel(object: Place): void {
  const spec = object.in('spec')
  checkLevelType(object)
  const problem = problemOfLevel(object.in('metadata', 'name').text, spec)
  if (problem === undefined) return
  spec.invalid(problem, internalValue('PriorityLevelConfigurationSpec', spec.value))
}

function checkLevelType(object: Place): void {
  const spec = object.in('spec')
  const [type, limited, exempt] = [spec.in('type'), spec.in('limited'), spec.in('exempt')]
  const isExempt = object.in('metadata', 'name').text === 'exempt'
  if (isExempt !== (type.text === 'Exempt')) {
    type.invalid("must be 'Exempt' if and only if `name` is 'exempt'", type.text)
  }
  if (type.text === 'Exempt') {
    if (limited.isSet) limited.forbidden('must be nil if the type is not Limited')
    checkShares(exempt)
  } else if (type.text === 'Limited') {
    if (exempt.isSet) exempt.forbidden('must be nil if the type is Limited')
    if (limited.isSet) checkLimited(limited)
    else limited.required('must not be empty when type is Limited')
  } else type.oneOf(['Exempt', 'Limited'], 'required')
}

function checkShares(level: Place): void {
  const [shares, percent] = [level.in('nominalConcurrencyShares'), level.in('lendablePercent')]
  if (shares.number < 0) shares.invalid('must be a non-negative integer')
  if (percent.number < 0 || percent.number > 100) {
    percent.invalid('must be between 0 and 100, inclusive')
  }
}

function checkLimited(limited: Place): void {
  const shares = limited.in('nominalConcurrencyShares')
  if (shares.number < 0) shares.invalid('must be a non-negative integer')
  const response = limited.in('limitResponse')
  const [type, queuing] = [response.in('type'), response.in('queuing')]
  if (type.text === 'Reject') {
    if (queuing.isSet) {
      queuing.forbidden('must be nil if limited.limitResponse.type is not Limited')
    }
  } else if (type.text === 'Queue') {
    if (queuing.isSet) checkQueuing(queuing)
    else queuing.required('must not be empty if limited.limitResponse.type is Limited')
  } else type.oneOf(['Queue', 'Reject'], 'required')
  const [percent, borrowed] = [limited.in('lendablePercent'), limited.in('borrowingLimitPercent')]
  if (percent.number < 0 || percent.number > 100) {
    percent.invalid('must be between 0 and 100, inclusive')
  }
  if (borrowed.number < 0) borrowed.invalid('if specified, must be a non-negative integer')
}

function checkQueuing(queuing: Place): void {
  const [length, queues, hand] = [
    queuing.in('queueLengthLimit'),
    queuing.in('queues'),
    queuing.in('handSize'),
  ]
  if (length.number <= 0) length.invalid('must be positive', length.number)
  if (queues.number <= 0) queues.invalid('must be positive', queues.number)
  else if (queues.number > 1e7) queues.invalid('must not be greater than 10000000')
  if (hand.number <= 0) hand.invalid('must be positive', hand.number)
  else if (hand.number > queues.number) {
    hand.invalid(`should not be greater than queues (${queues.number})`)
  } else if (entropyOf(queues.number, hand.number) > 60) {
    hand.invalid(
      `required entropy bits of deckSize ${queues.number} and handSize ${hand.number} should not be greater than 60`,
    )
  }
}

/** Bits that it takes to choose a hand of queues. */
function entropyOf(queues: number, hand: number): number {
  return Math.ceil(Math.log2(queues) * hand)
}

/** A service is named after what it serves. */
function serviceName(text: string, spec: Place): readonly string[] {
  const problems = pathSegment(text)
  if (problems.length > 0) return problems
  const name = `${spec.in('version').text}.${spec.in('group').text}`
  return text === name ? [] : [`must be \`spec.version+"."+spec.group\`: ${goQuote(name)}`]
}

function checkService(object: Place): void {
  checkObjectMeta(object.in('metadata'), {
    isNamespaced: false,
    name: text => serviceName(text, object.in('spec')),
  })
  checkFinalizerDomains(object.in('metadata'))
  const spec = object.in('spec')
  const [group, version, service] = [spec.in('group'), spec.in('version'), spec.in('service')]
  if (group.text === '' && version.text !== 'v1') {
    group.required('only v1 may have an empty group and it better be legacy kube')
  }
  if (group.text !== '') group.mustBe(dnsSubdomain)
  version.mustBe(dns1035Label)
  for (const [name, max] of [
    ['groupPriorityMinimum', 20000],
    ['versionPriority', 1000],
  ] as const) {
    const { number } = spec.in(name)
    if (number > 0 && number <= max) continue
    spec.in(name).invalid(`must be positive and less than ${max}`, number)
  }
  const [bundle, isInsecure] = [spec.in('caBundle'), spec.in('insecureSkipTLSVerify')]
  if (!service.isSet) {
    if (bundle.text !== '') {
      const bytes = Buffer.from(bundle.text, 'base64').length
      bundle.invalid('local APIServices may not have a caBundle', `${bytes} bytes`)
    }
    if (isInsecure.isTrue) {
      isInsecure.invalid('local APIServices may not have insecureSkipTLSVerify')
    }
    return
  }
  for (const name of ['namespace', 'name']) {
    if (service.in(name).text === '') service.in(name).required()
  }
  const port = service.in('port')
  const errors = portNumber(port.number)
  if (errors.length > 0) port.invalid(`port is not valid: ${errors.join(', ')}`, port.number)
  if (isInsecure.isTrue && bundle.text !== '') {
    isInsecure.invalid('may not be true if caBundle is present')
  }
}

/** FlowSchemas: which requests belong to which level of priority (KEP 1040). */

import { dnsLabel, dnsSubdomain } from '../../validation/formats.ts'
import { internalValue } from '../../validation/internal-types.ts'
import { checkNewMeta } from '../../validation/object-meta.ts'
import type { Place } from '../../validation/place.ts'
import { type BuiltInKind, kind } from '../kind.ts'
import { problemOfFlow } from './shared/mandatory-flows.ts'
import { checkTypes, keepAllMetadata } from './shared/statuses.ts'

export const flowSchema: BuiltInKind = kind({
  group: 'flowcontrol.apiserver.k8s.io',
  kind: 'FlowSchema',
  plural: 'flowschemas',
  hasStatus: true,
  counted: ['spec'],
  hasFreeUpdate: true,
  hasFreeStatusMetadata: true,
  validateCreate: checkFlow,
  validateUpdate: object => {
    checkNewMeta(object, false)
    checkFlow(object)
  },
  subresources: {
    status: {
      resets: ['metadata', 'spec'],
      prepare: keepAllMetadata,
      validate: checkTypes,
    },
  },
})

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

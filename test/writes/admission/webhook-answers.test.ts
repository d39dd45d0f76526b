/** Answers of webhooks of admission and of conversion: what is taken, and why one is not. The texts
 *  are those of kube-apiserver (apiserver: admission/plugin/webhook/request, webhook/util;
 *  apiextensions-apiserver: conversion/webhook_converter). */

import t from 'tap'
import {
  conversionReview,
  conversionVersionOf,
  convertedIn,
  kindText,
  UnusableConversion,
} from '../../../lib/writes/admission/conversion/review.ts'
import {
  answerOf,
  refusalOf,
  reviewVersionOf,
  UnusableAnswer,
} from '../../../lib/writes/admission/webhooks/review.ts'
import { type JsonObject, textInOrder } from '../../../lib/go/json/tree.ts'
import { treeOf } from '../recorded/load.ts'
import { allSteps } from '../../support/steps.ts'

const v1 = 'admission.k8s.io/v1'
const v1beta1 = 'admission.k8s.io/v1beta1'
const named = { apiVersion: v1, kind: 'AdmissionReview' }

interface Sent {
  readonly apiVersion?: string
  readonly mutates?: boolean
}

/** The answer as it is understood; or why it cannot be used. */
function answered(answer: unknown, { apiVersion = v1, mutates = true }: Sent = {}): unknown {
  try {
    const body = Buffer.from(JSON.stringify(answer))
    const { patch, status, ...rest } = answerOf(body, { uid: 'u', apiVersion, mutates })
    return {
      ...rest,
      patch: patch?.toString(),
      status: status === undefined ? undefined : textInOrder(status),
    }
  } catch (error) {
    if (error instanceof UnusableAnswer) return error.message
    throw error
  }
}

const response = (members: object): object => ({ ...named, response: { uid: 'u', ...members } })
const patch = Buffer.from('[]').toString('base64')
const nothing = {
  isAllowed: false,
  warnings: [],
  annotations: [],
  patchType: '',
  patch: undefined,
  status: undefined,
}

t.test('a review is of a version that both know', async t => {
  t.equal(reviewVersionOf(['v2', 'v1beta1', 'v1']), v1beta1)
  t.equal(reviewVersionOf(['v1']), v1)
  t.equal(reviewVersionOf(['v2']), undefined)
  t.equal(conversionVersionOf(['v2', 'v1beta1', 'v1']), 'apiextensions.k8s.io/v1beta1')
  t.equal(conversionVersionOf(['v1']), 'apiextensions.k8s.io/v1')
  t.equal(conversionVersionOf(['v2']), undefined)
})

t.test('an answer of admission is read', async t => {
  t.strictSame(answered(response({})), nothing)
  t.strictSame(answered(response({ allowed: 'yes' })), nothing)
  const whole = response({
    allowed: true,
    status: { code: 418 },
    warnings: ['a', 'b'],
    auditAnnotations: { k: 'v' },
    patch,
    patchType: 'JSONPatch',
  })
  t.strictSame(answered(whole), {
    isAllowed: true,
    status: '{"code":418}',
    warnings: ['a', 'b'],
    annotations: [['k', 'v']],
    patch: '[]',
    patchType: 'JSONPatch',
  })
  t.strictSame(answered(response({ status: null, patchType: null })), nothing)
  // Of the first version a patch has no type, and nothing else is looked at.
  const old = { response: { patch } }
  t.strictSame(answered(old, { apiVersion: v1beta1 }), {
    ...nothing,
    patch: '[]',
    patchType: 'JSONPatch',
  })
  t.strictSame(answered(old, { apiVersion: v1beta1, mutates: false }), {
    ...nothing,
    patchType: 'JSONPatch',
  })
})

const invalid = 'received invalid webhook response: '
const failed = 'failed to call webhook: '
const unregistered = (kind: string, version: string): string =>
  `${failed}no kind "${kind}" is registered for version "${version}" in scheme "pkg/util/webhook/client.go:71"`

t.test('an answer of admission that cannot be used is told of', async t => {
  for (const [answer, problem, sent] of [
    [{ ...named }, `${invalid}webhook response was absent`],
    [{ ...named, response: { uid: 'x' } }, `${invalid}expected response.uid="u", got "x"`],
    [{ ...named, response: {} }, `${invalid}expected response.uid="u", got ""`],
    [
      { response: { uid: 'u' } },
      `${invalid}expected webhook response of ${v1}, Kind=AdmissionReview, got /, Kind=`,
    ],
    [{ apiVersion: 'x/v1', kind: 'AdmissionReview' }, unregistered('AdmissionReview', 'x/v1')],
    [{ apiVersion: v1, kind: 'Other' }, unregistered('Other', v1)],
    [{ apiVersion: v1 }, unregistered('', v1)],
    [{ kind: 'AdmissionReview' }, unregistered('AdmissionReview', '')],
    [
      { ...named, apiVersion: v1beta1 },
      `${failed}converting (v1beta1.AdmissionReview) to (v1.AdmissionReview): unknown conversion`,
    ],
    [
      response({ patch, patchType: 'JSONPatch' }),
      `${invalid}validating webhook may not return response.patch`,
      { mutates: false },
    ],
    [
      response({ patchType: 'JSONPatch' }),
      `${invalid}validating webhook may not return response.patchType`,
      { mutates: false },
    ],
    [response({ patch }), `${invalid}webhook returned response.patch but not response.patchType`],
    [
      response({ patchType: 'JSONPatch' }),
      `${invalid}webhook returned response.patchType but not response.patch`,
    ],
    [
      response({ patch, patchType: '' }),
      `${invalid}webhook returned invalid response.patchType of ""`,
    ],
  ] as readonly (readonly [object, string, Sent?])[]) {
    t.equal(answered(answer, sent), problem)
  }
  t.match(answered('text'), /^failed to call webhook: couldn't get version\/kind; json parse error/)
})

t.test('a refusal has the status of the answer, within bounds', async t => {
  const words = 'admission webhook "h" denied the request'
  for (const [status, code, message, reason] of [
    [{}, 400, `${words} without explanation`, ''],
    [{ code: 399 }, 400, `${words} without explanation`, ''],
    [{ code: 400, reason: 'R' }, 400, `${words}: R`, 'R'],
    [{ code: 401, reason: 'R', message: 'm' }, 401, `${words}: m`, 'R'],
    [{ code: 599 }, 599, `${words} without explanation`, ''],
    [{ code: 600 }, 400, `${words} without explanation`, ''],
  ] as const) {
    const { details, ...refusal } = refusalOf('h', treeOf(status))
    t.strictSame(refusal, { code, message, reason })
    t.equal(details, undefined)
  }
  const { details } = refusalOf('h', treeOf({ details: { name: 'a' } }))
  t.equal(textInOrder(details ?? null), '{"name":"a"}')
  t.equal(refusalOf('h', undefined).message, `${words} without explanation`)
})

const sent = treeOf({
  apiVersion: 'example.com/v1',
  kind: 'Toy',
  metadata: { name: 'a', namespace: 'x', uid: 'i', labels: { l: '1' }, annotations: { bad_: 'k' } },
  spec: 1,
})
const request = {
  uid: 'u',
  apiVersion: 'apiextensions.k8s.io/v1',
  to: 'example.com/v2',
  objects: [sent],
}

const same = { name: 'a', namespace: 'x', uid: 'i' }
const object = (metadata: unknown, more: object = {}): object => ({
  apiVersion: 'example.com/v2',
  kind: 'Toy',
  metadata,
  spec: 2,
  ...more,
})

function converted(members: object, review: object = {}): unknown {
  const answer = {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'ConversionReview',
    response: { uid: 'u', result: { status: 'Success' }, ...members },
    ...review,
  }
  try {
    const made = allSteps(convertedIn(Buffer.from(JSON.stringify(answer)), request))
    return made.map((one: JsonObject) => JSON.parse(textInOrder(one)) as unknown)
  } catch (error) {
    if (error instanceof UnusableConversion) return error.message
    throw error
  }
}

t.test('a conversion is asked for, and its answer read', async t => {
  t.equal(kindText(sent), 'example.com/v1, Kind=Toy')
  t.equal(
    conversionReview(request).toString(),
    `{"kind":"ConversionReview","apiVersion":"apiextensions.k8s.io/v1","request":{"uid":"u","desiredAPIVersion":"example.com/v2","objects":[${textInOrder(sent)}]},"response":{"uid":"","convertedObjects":null,"result":{"metadata":{}}}}\n`,
  )
  const labels = { l: '2', m: '3' }
  const changed = object({ ...same, labels, annotations: null, finalizers: ['ignored'] })
  t.strictSame(converted({ convertedObjects: [changed] }), [object({ ...same, labels })])
  // What has not changed is not looked at.
  const kept = { ...same, labels: { l: '1' }, annotations: { bad_: 'k' } }
  t.strictSame(converted({ convertedObjects: [object(kept)] }), [object(kept)])
})

t.test('an answer of a conversion that cannot be used is told of', async t => {
  const words = 'conversion webhook for example.com/v1, Kind=Toy'
  const expected = `${words} failed: expected webhook response of apiextensions.k8s.io/v1, Kind=ConversionReview, got `
  const [at, metadata] = [
    `${words} returned invalid object at index 0: `,
    `${words} returned invalid metadata: `,
  ]
  const different = `${words} returned invalid object: must have the same `
  for (const [members, problem, review] of [
    [{}, `${expected}x/v1, Kind=ConversionReview`, { apiVersion: 'x/v1' }],
    [{}, `${expected}apiextensions.k8s.io/v1, Kind=X`, { kind: 'X' }],
    [{}, `${words} failed: no response provided`, { response: null }],
    [{ uid: 'x' }, `${words} failed: expected response.uid="u", got "x"`],
    [{ result: { status: 'Failure', message: 'm' } }, `${words} failed: m`],
    [{ result: {} }, `${words} failed: response.result.status was '', not 'Success'`],
    [{}, `${words} returned 0 objects, expected 1`],
    [
      { convertedObjects: [object(same, { apiVersion: 'example.com/v3' })] },
      `${at}invalid groupVersion (expected example.com/v2, received example.com/v3)`,
    ],
    [
      { convertedObjects: [object(same, { kind: 'X' })] },
      `${at}invalid kind (expected Toy, received X)`,
    ],
    [{ convertedObjects: ['x'] }, `${at}it is no object`],
    [{ convertedObjects: [object({ ...same, name: 'b' })] }, `${different}name: a != b`],
    [{ convertedObjects: [object({ ...same, namespace: 'y' })] }, `${different}namespace: x != y`],
    [{ convertedObjects: [object({ ...same, uid: 'j' })] }, `${different}UID: i != j`],
    [
      { convertedObjects: [object({ ...same, labels: 1 })] },
      `${metadata}invalid metadata.labels in converted object`,
    ],
    [
      { convertedObjects: [object({ ...same, annotations: { a: 1 } })] },
      `${metadata}metadata.annotations[a] must be a string`,
    ],
    [
      { convertedObjects: [object({ ...same, labels: { l: 'a b' } })] },
      new RegExp(`^${metadata}metadata\\.labels: Invalid value: "a b": a valid label must be`),
    ],
    [
      { convertedObjects: [object({ ...same, annotations: { 'a b': '' } })] },
      new RegExp(`^${metadata}metadata\\.annotations: Invalid value: "a b": name part must`),
    ],
  ] as readonly (readonly [object, string | RegExp, object?])[]) {
    if (typeof problem === 'string') t.equal(converted(members, review), problem)
    else t.match(converted(members, review), problem)
  }
})

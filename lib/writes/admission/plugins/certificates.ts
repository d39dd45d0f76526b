/** CertificateApproval, CertificateSigning and CertificateSubjectRestriction: who may approve and
 *  sign requests of a signer, and what nobody may ask for. */

import { goQuote, type JsonObject, memberOf, parseRequest } from '@watchglass/go'
import { isEqual, textOf } from '../../metadata.ts'
import { partOf } from '../pod-parts.ts'
import type { AdmissionPlugin, AdmissionAttributes } from '../plugin.ts'
import { forbidden } from '../refusals.ts'

const group = 'certificates.k8s.io'
const clientSigner = 'kubernetes.io/kube-apiserver-client'
const administrators = 'system:masters'

export const certificateApproval: AdmissionPlugin = {
  name: 'CertificateApproval',
  validate(attributes) {
    const { old } = attributes
    if (!isRequest(attributes, 'approval') || old === undefined) return undefined
    checkSigner(attributes, old, 'approve')
    return undefined
  },
}

export const certificateSigning: AdmissionPlugin = {
  name: 'CertificateSigning',
  validate(attributes) {
    const { object, old } = attributes
    if (!isRequest(attributes, 'status') || object === undefined || old === undefined) {
      return undefined
    }
    const isSame = ['certificate', 'conditions'].every(name =>
      isEqual(memberOf(object.get('status'), name), memberOf(old.get('status'), name)),
    )
    if (!isSame) checkSigner(attributes, old, 'sign')
    return undefined
  },
}

export const certificateSubjectRestriction: AdmissionPlugin = {
  name: 'CertificateSubjectRestriction',
  validate(attributes) {
    const { object, operation } = attributes
    if (operation !== 'CREATE' || !isRequest(attributes, '') || object === undefined) {
      return undefined
    }
    const spec = partOf(object, 'spec')
    if (spec.get('signerName') !== clientSigner) return undefined
    const request = parseRequest(textOf(spec.get('request')))
    if (typeof request === 'string') throw forbidden(attributes, `failed to parse CSR: ${request}`)
    if (request.organizations.includes(administrators)) {
      throw forbidden(
        attributes,
        `use of ${clientSigner} signer with ${administrators} group is not allowed`,
      )
    }
    return undefined
  },
}

function isRequest({ session }: AdmissionAttributes, subresource: string): boolean {
  const { kind } = session
  const isMeant = kind.group === group && kind.resource === 'certificatesigningrequests'
  return isMeant && session.subresource === subresource
}

/** Refuses whoever may not do so with the signer of a request, nor with all of its domain. */
function checkSigner(
  attributes: AdmissionAttributes,
  request: JsonObject,
  verb: 'approve' | 'sign',
): void {
  const { access } = attributes.session.services
  if (access === undefined) return
  const signer = textOf(partOf(request, 'spec').get('signerName'))
  const names = [signer, `${signer.split('/')[0] ?? ''}/*`]
  const mayDo = names.some(
    name =>
      access.authorize(attributes.session.user, {
        verb,
        group,
        version: '*',
        resource: 'signers',
        subresource: '',
        namespace: '',
        name,
        fields: [],
        labels: [],
      }).isAllowed,
  )
  if (mayDo) return
  throw forbidden(
    attributes,
    `user not permitted to ${verb} requests with signerName ${goQuote(signer)}`,
  )
}

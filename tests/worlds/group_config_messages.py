"""Requests about configurations, resource by resource, and answers to them."""

from kproxy.wire.messages import alter_configs_request, alter_configs_response
from kproxy.wire.messages.describe_configs_response import (
    DescribeConfigsResourceResult,
    DescribeConfigsResult,
)
from kproxy.wire.messages.incremental_alter_configs_request import AlterableConfig, AlterConfigsResource
from kproxy.wire.messages.incremental_alter_configs_response import AlterConfigsResourceResponse

TOPIC, GROUP = 2, 32
SHARE, OTHER = "share.auto.offset.reset", "consumer.session.timeout.ms"


def altered(resource_type: int, name: str, *keys: str) -> AlterConfigsResource:
    return AlterConfigsResource(resource_type, name, [AlterableConfig(key, 0, "1") for key in keys])


def alter_result(resource_type: int, name: str, error_code: int = 0) -> AlterConfigsResourceResponse:
    message = "no" if error_code else None
    return AlterConfigsResourceResponse(error_code, message, resource_type, name)


def legacy(resource_type: int, name: str, *keys: str) -> alter_configs_request.AlterConfigsResource:
    configs = [alter_configs_request.AlterableConfig(key, "1") for key in keys]
    return alter_configs_request.AlterConfigsResource(resource_type, name, configs)


def legacy_result(
    resource_type: int, name: str, error_code: int = 0
) -> alter_configs_response.AlterConfigsResourceResponse:
    message = "no" if error_code else None
    return alter_configs_response.AlterConfigsResourceResponse(error_code, message, resource_type, name)


def described(resource_type: int, name: str, *keys: str, error_code: int = 0) -> DescribeConfigsResult:
    entries = [DescribeConfigsResourceResult(name=key, value="1") for key in keys]
    return DescribeConfigsResult(error_code, None, resource_type, name, entries)

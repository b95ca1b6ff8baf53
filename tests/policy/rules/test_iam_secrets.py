"""UC-IAM-008: secrets in parameters, user data, environment variables and other properties."""

from __future__ import annotations

import pytest

from support.networks import UNKNOWN, launch_template, made, only, own_ids, template
from support.policy import assert_not_judged, assert_passes

RULE = "UC-IAM-008"
NOTHING_ELSE = made("AWS::S3::Bucket")
CASES = {"Case": {"Fn::Equals": [UNKNOWN, "yes"]}}
TOKEN = "hf_" + "aB3" * 12

# Parameters


def parameter(name, **more):
    return template({name: {"Type": "String", **more}}, Bucket=NOTHING_ELSE)


SECRET_NAMES = [
    "Password",
    "DBPassword",
    "GrafanaAdminPassword",
    "HfToken",
    "WandbApiKey",
    "SecretKey",
    "DbSecret",
    "TOKEN2",
]


@pytest.mark.parametrize("name", SECRET_NAMES)
def test_parameters_for_secrets(name):
    only(RULE, parameter(name), place=f"Parameters.{name}: a secret without NoEcho")
    only(RULE, parameter(name, NoEcho=False), place="a secret without NoEcho")
    only(RULE, parameter(name, NoEcho=True, Default="hunter22"), place="a secret with a default")
    assert_passes(RULE, parameter(name, NoEcho="true"))
    assert_passes(RULE, parameter(name, NoEcho=True, Default=""))


@pytest.mark.parametrize(
    "found",
    [
        parameter("KeyName"),
        parameter("SecretArn"),
        parameter("PasswordLength", Type="Number", Default=16),
        parameter("CreateSecret", Default="true"),
        parameter("UseToken", AllowedValues=["yes", "no"]),
        parameter("DbPassword", Type="AWS::SSM::Parameter::Value<String>", Default="/db/password"),
        parameter("DbSecret", Default="arn:aws:secretsmanager:us-east-1:111122223333:secret:x"),
        parameter("DbPassword", Default="{{resolve:secretsmanager:db}}"),
        parameter("SshPublicKey"),
        parameter("TokenizerName"),
    ],
)
def test_parameters_for_something_else(found):
    assert_passes(RULE, found)


# User data


def script(text):
    return template(Lt=launch_template(UserData={"Fn::Base64": text}))


IN_CLEAR = {
    "hugging face": f"huggingface-cli login --token {TOKEN}",
    "aws": "aws configure set aws_access_key_id " + "AKIA" + "2X3Y4Z5W6V7U8T9S",
    "private key": "cat > id <<EOF\n-----BEGIN OPENSSH " + "PRIVATE KEY-----\nb3Bl\nEOF",
    "github": "git clone https://ghp_" + "a1B2" * 9 + "@github.com/acme/x",
    "export": "export WANDB_API_KEY=0123456789abcdef0123456789abcdef01234567",
    "quoted": 'DB_PASSWORD="correct-horse" run',
}


@pytest.mark.parametrize("text", IN_CLEAR.values(), ids=IN_CLEAR)
def test_secrets_in_user_data(text):
    only(RULE, script(f"#!/bin/bash\n{text}\n"), place="Lt LaunchTemplateData.UserData: a")
    instance = made("AWS::EC2::Instance", UserData={"Fn::Base64": f"#!/bin/bash\n{text}\n"})
    only(RULE, template(Box=instance), place="Box UserData")


@pytest.mark.parametrize(
    "text",
    [
        'TOKEN=$(curl -X PUT "http://169.254.169.254/latest/api/token")',
        "PASSWORD=$(aws secretsmanager get-secret-value --secret-id db --query SecretString)",
        "export HF_TOKEN=$HF_TOKEN",
        "export HF_TOKEN=your_token_here",
        "export API_KEY=<your-api-key>",
        "MUNGE_SECRET=/etc/munge/munge.key",
        "VAULT_TOKEN=https://vault.example.com/token",
        "aws configure set aws_access_key_id " + "AKIA" + "IOSFODNN7EXAMPLE",
        "SECRET_ARN=arn:aws:secretsmanager:us-east-1:111122223333:secret:x",
        "NEXT_TOKEN=abcdefgh",
    ],
)
def test_user_data_without_secrets(text):
    assert_passes(RULE, script(f"#!/bin/bash\n{text}\n"))


def test_user_data_that_refers():
    assert_passes(RULE, script({"Fn::Sub": "#!/bin/bash\nDB_PASSWORD=${Unknown}\n"}))
    assert_not_judged(RULE, template(Lt=launch_template(UserData=UNKNOWN)))


# Environment variables


def variables(*pairs):
    return [{"Name": name, "Value": value} for name, value in pairs]


ENVIRONMENTS = {
    "batch": lambda value: made(
        "AWS::Batch::JobDefinition", ContainerProperties={"Environment": variables(("A", "b"), ("HF_TOKEN", value))}
    ),
    "batch nodes": lambda value: made(
        "AWS::Batch::JobDefinition",
        NodeProperties={"NodeRangeProperties": [{"Container": {"Environment": variables(("HF_TOKEN", value))}}]},
    ),
    "ecs": lambda value: made(
        "AWS::ECS::TaskDefinition", ContainerDefinitions=[{"Environment": variables(("HF_TOKEN", value))}]
    ),
    "lambda": lambda value: made("AWS::Lambda::Function", Environment={"Variables": {"HF_TOKEN": value}}),
    "codebuild": lambda value: made(
        "AWS::CodeBuild::Project", Environment={"EnvironmentVariables": variables(("HF_TOKEN", value))}
    ),
    "sagemaker": lambda value: made("AWS::SageMaker::Model", PrimaryContainer={"Environment": {"HF_TOKEN": value}}),
}


@pytest.mark.parametrize("holder", ENVIRONMENTS.values(), ids=ENVIRONMENTS)
def test_secrets_in_the_environment(holder):
    only(RULE, template(X=holder("s3cr3t-t0ken")), place="HF_TOKEN holds a secret in plain text")
    parameters = {"Hidden": {"Type": "String", "NoEcho": True}}
    for value in ({"Ref": "Hidden"}, "{{resolve:secretsmanager:hf}}", "", "changeme", "arn:aws:x:::y"):
        assert_passes(RULE, template(parameters, X=holder(value)))


@pytest.mark.parametrize("holder", ENVIRONMENTS.values(), ids=ENVIRONMENTS)
def test_secrets_in_a_branch_or_a_text_without_variables(holder):
    for value in ({"Fn::If": ["Case", "s3cr3t-t0ken", ""]}, {"Fn::Sub": "s3cr3t-t0ken"}):
        only(RULE, template(X=holder(value), conditions=CASES), place="HF_TOKEN holds a secret in plain text")
    # Where the text comes from a parameter, the parameter is the place to mend.
    parameters = {"Name": {"Type": "String", "Default": "s3cr3t-t0ken"}}
    for value in ({"Fn::Sub": "${Name}"}, {"Fn::If": ["Case", {"Ref": "Name"}, ""]}):
        assert own_ids(template(parameters, X=holder(value), conditions=CASES)) == set()


def test_tokens_under_any_name():
    only(RULE, template(X=made("AWS::Lambda::Function", Environment={"Variables": {"HUB": TOKEN}})), place="HUB holds")


def test_places_of_secrets():
    entry = {"Name": "HF_TOKEN", "Value": "hugging-face", "Type": "SECRETS_MANAGER"}
    found = made("AWS::CodeBuild::Project", Environment={"EnvironmentVariables": [entry]})
    assert_passes(RULE, template(X=found))


def test_environments_that_cannot_be_known():
    unknown = made("AWS::Batch::JobDefinition", ContainerProperties={"Environment": UNKNOWN})
    assert own_ids(template(X=unknown)) == set()


# Other properties


def secret(text):
    return template(X=made("AWS::SecretsManager::Secret", SecretString=text))


@pytest.mark.parametrize("text", ["correct-horse-battery", '{"username": "admin", "password": "correct-horse"}'])
def test_secret_strings(text):
    only(RULE, secret(text), place="X SecretString: the text of the secret stands in the template")


@pytest.mark.parametrize(
    "text",
    [
        None,
        "PLACEHOLDER - populate after the stack is made",
        '{"username": "admin"}',
        '{"password": "REPLACE_ME"}',
        {"Fn::Sub": '{"username": "admin", "password": "${Unknown}"}'},
        '{"password": "{{resolve:ssm-secure:/db}}"}',
    ],
)
def test_secret_strings_without_a_secret(text):
    assert_passes(RULE, secret(text))


def test_secret_strings_that_cannot_be_known():
    assert_not_judged(RULE, secret(UNKNOWN))


def test_passwords_of_databases():
    database = made("AWS::RDS::DBCluster", MasterUserPassword="correct-horse")
    only(RULE, template(X=database), place="X MasterUserPassword: a password in plain text")
    for value in (UNKNOWN, {"Fn::Sub": "{{resolve:secretsmanager:${Unknown}:SecretString:password}}"}):
        assert_passes(RULE, template(X=made("AWS::RDS::DBCluster", MasterUserPassword=value)))


def test_name_and_value_under_one_condition():
    entry = {
        "Name": {"Fn::If": ["Case", "HF_TOKEN", "MODEL"]},
        "Value": {"Fn::If": ["Case", "{{resolve:ssm:/hf}}", "llama-3-70b"]},
    }
    holder = made("AWS::Batch::JobDefinition", ContainerProperties={"Environment": [entry]})
    assert_passes(RULE, template(conditions=CASES, X=holder))
